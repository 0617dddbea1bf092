#include "forward/server_address.hpp"

#include <gtest/gtest.h>

namespace plimsoll::forward {
namespace {

TEST(ServerAddress, PlainOnes) {
  const auto address = parse_address("HTTP://host:5000/mlflow/", {.token = "t"});
  ASSERT_TRUE(address);
  EXPECT_EQ(*address, (ServerAddress{"http://host:5000/mlflow", "http://host:5000/mlflow", {.token = "t"}}));
}

TEST(ServerAddress, CredentialsGoBeforeTheEnvironmentsAndAreMasked) {
  const auto address = parse_address("https://me:p%40ss:w@host", {.token = "t"});
  ASSERT_TRUE(address);
  EXPECT_EQ(address->url, "https://host");
  EXPECT_EQ(address->shown, "https://me:***@host");
  EXPECT_EQ(address->credentials, (Credentials{.user = "me", .password = "p@ss:w"}));
}

TEST(ServerAddress, APasswordWithAnAtSign) {
  const auto address = parse_address("https://me:p@ss@host:1");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->url, "https://host:1");
  EXPECT_EQ(address->credentials.password, "p@ss");
}

TEST(ServerAddress, RefusesWhatIsNoServerAndShowsNoSecret) {
  for (const char* uri :
       {"", "databricks", "file:///tmp/mlruns", "sqlite:///x.db", "http://", "http://:80",
        "http://me:secret@", "http://me:sec/secret@host", "http://me:secret?x@host", "http://me:secret @host",
        "ftp://me:secret@host", "http://host/#/experiments/0", "http://me:sec%0Asecret@host"}) {
    const auto address = parse_address(uri);
    ASSERT_FALSE(address) << uri;
    EXPECT_EQ(address.error().text().find("secret"), std::string::npos) << address.error().text();
    EXPECT_FALSE(address.error().hint.empty());
  }
}

}  // namespace
}  // namespace plimsoll::forward
