module.exports = require("dialcache-native");
