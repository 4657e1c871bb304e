export * from "dialcache-native";
