#include "serve/dashboard/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::serve::dashboard {
namespace {

using testing::HasSubstr;

TEST(Bundle, HasThePageWithItsPolicy) {
  const Bundle bundle;
  const Response page = bundle.answer("index.html", {});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<title>"));
  ASSERT_NE(page.headers.find("Content-Security-Policy"), nullptr);
  EXPECT_THAT(*page.headers.find("Content-Security-Policy"),
              testing::AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';"),
                             HasSubstr("frame-ancestors 'none'"), testing::Not(HasSubstr("unsafe"))));
  EXPECT_EQ(*page.headers.find("X-Frame-Options"), "DENY");
}

TEST(Bundle, IsNotSentAgainToWhoHasIt) {
  const Bundle bundle;
  const std::string tag = *bundle.answer("app.css", {}).headers.find("ETag");
  const Response again = bundle.answer("app.css", {.headers = {{"if-none-match", tag}}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
}

TEST(Bundle, ComesCompressedToWhoTakesItSo) {
  const Bundle bundle;
  const Response plain = bundle.answer("index.html", {}),
                 small = bundle.answer("index.html", {.headers = {{"accept-encoding", "br, gzip"}}});
  ASSERT_NE(small.headers.find("Content-Encoding"), nullptr);
  EXPECT_LT(small.body.size(), plain.body.size());
  EXPECT_EQ(bundle.answer("index.html", {.headers = {{"accept-encoding", "gzip;q=0"}}})
                .headers.find("Content-Encoding"),
            nullptr);
}

TEST(Bundle, HasNothingElse) {
  const Bundle bundle;
  for (const char* name :
       {"", ".", "..", "../index.html", "a/b.js", "nothing.js", "index.html\n", ".hidden.js", "app.css.exe"})
    EXPECT_EQ(bundle.answer(name, {}).status, 404) << name;
}

TEST(Bundle, OfAFolderIsReadAnewAndOnlyThere) {
  const auto folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_file(folder->path() / "app.js", "1"));
  ASSERT_TRUE(write_file(folder->path() / "secret", "2"));
  const Bundle bundle(folder->path());
  EXPECT_EQ(bundle.answer("app.js", {}).body, "1");
  ASSERT_TRUE(write_file(folder->path() / "app.js", "22"));
  EXPECT_EQ(bundle.answer("app.js", {}).body, "22");
  for (const char* name : {"secret", "index.html", "../app.js"})
    EXPECT_EQ(bundle.answer(name, {}).status, 404) << name;
}

}  // namespace
}  // namespace plimsoll::serve::dashboard
