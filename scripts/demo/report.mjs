export const report = () => "<!doctype html>";
