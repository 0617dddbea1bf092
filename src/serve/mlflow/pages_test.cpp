#include "serve/mlflow/pages.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::serve::mlflow {
namespace {

namespace fs = std::filesystem;

TEST(Pages, WhatTheyAskForIsTheSameApi) {
  EXPECT_EQ(below_pages("/mlflow/ajax-api/2.0/mlflow/runs/get"), "/ajax-api/2.0/mlflow/runs/get");
  EXPECT_EQ(below_pages("/mlflow/get-artifact"), "/get-artifact");
  for (const std::string_view same : {"/mlflow", "/mlflow/", "/mlflow/static-files/static/js/main.js",
                                      "/mlflows/x", "/api/2.0/mlflow/runs/get", "", "/"})
    EXPECT_EQ(below_pages(same), same);
}

TEST(Pages, AreFoundInAnInstalledMlflow) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  const fs::path built = folder->path() / "mlflow" / "server" / "js" / "build";
  EXPECT_FALSE(Pages::in(folder->path()));
  fs::create_directories(built / "static" / "js");
  EXPECT_FALSE(Pages::in(folder->path())) << "there is no index.html";
  std::ofstream(built / "index.html") << "<html>";
  std::ofstream(built / "static" / "js" / "a.js") << "1";
  std::ofstream(built / "odd.name") << "1";
  for (const fs::path& given : {folder->path(), folder->path() / "mlflow", built}) {
    const Result<Pages> pages = Pages::in(given);
    ASSERT_TRUE(pages) << given;
    EXPECT_EQ(pages->index().content_type, "text/html; charset=utf-8");
    EXPECT_EQ(pages->file("static/js/a.js").content_type, "text/javascript; charset=utf-8");
    EXPECT_EQ(pages->file("odd.name").content_type, "application/octet-stream");
    EXPECT_EQ(pages->file("static/js").status, 404);
    EXPECT_EQ(pages->file("../index.html").status, 404);
    EXPECT_EQ(pages->file("").status, 404);
  }
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
