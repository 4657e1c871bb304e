// A project whose binary was not installed: prints what loading the package says.
try {
  require("dialcache-native");
  console.log("loaded");
} catch (error) {
  console.log(error.message);
}
