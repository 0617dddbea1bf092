#include "serve/http/origin.hpp"

#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

TEST(IsOwnHost, KnowsLoopbackAndTheBoundAddress) {
  for (const char* host : {"localhost", "LocalHost:5000", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:5000"})
    EXPECT_TRUE(is_own_host(host, "127.0.0.1")) << host;
  EXPECT_TRUE(is_own_host("127.0.0.9:80", "127.0.0.9"));
  EXPECT_TRUE(is_own_host("[fe80::1]:80", "fe80::1"));
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:5000",
                           "127.0.0.2", "[::2]", "[::1", "evil.example:127.0.0.1", "[", ""})
    EXPECT_FALSE(is_own_host(host, "127.0.0.1")) << host;
}

TEST(RefuseForeignHost, StopsRebinding) {
  Request head;
  EXPECT_FALSE(refuse_foreign_host(head, "127.0.0.1"));
  head.host = "evil.example:5000";
  const auto refusal = refuse_foreign_host(head, "127.0.0.1");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 403);
}

TEST(RefuseForeignOrigin, LetsOtherSitesNeitherReadNorWrite) {
  Request head{.method = "POST", .host = "localhost:5000"};
  EXPECT_FALSE(refuse_foreign_origin(head)) << "no browser";
  head.headers = {{"origin", "http://LOCALHOST:5000"}};
  EXPECT_FALSE(refuse_foreign_origin(head));
  for (const char* origin : {"http://evil.example", "http://localhost:5001", "null", "", "localhost:5000"}) {
    head.headers = {{"origin", origin}};
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "GET", "HEAD", "OPTIONS"}) {
      head.method = method;
      EXPECT_TRUE(refuse_foreign_origin(head)) << origin;
    }
  }
}

}  // namespace
}  // namespace plimsoll::serve
