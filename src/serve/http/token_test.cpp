#include "serve/http/token.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;

TEST(Authorized, TakesBearerAndBasic) {
  EXPECT_TRUE(authorized("Bearer secret", "secret"));
  EXPECT_TRUE(authorized("bearer   secret ", "secret"));
  EXPECT_TRUE(authorized("Basic YWRhOnNlY3JldA==", "secret"));  // ada:secret
  EXPECT_TRUE(authorized("basic OnNlY3JldA", "secret"));        // :secret, without its padding
  EXPECT_TRUE(authorized("Basic YTpzZTpjcmV0", "se:cret"));     // a:se:cret
}

TEST(Authorized, RefusesAllElse) {
  for (const char* text :
       {"", "Bearer", "Bearer ", "secret", "Bearer secre", "Bearer secret1", "Bearer Secret",
        "Bearer secretsecret", "Digest secret", "Basic", "Basic c2VjcmV0", "Basic !!!",
        "Basic c2VjcmV0Og==" /* secret: */, "Basic YWRhOnNlY3JldDE=" /* ada:secret1 */})
    EXPECT_FALSE(authorized(text, "secret")) << text;
  EXPECT_FALSE(authorized("Bearer ", ""));
  EXPECT_FALSE(authorized("Basic Og==", ""));
}

TEST(RefuseWithoutToken, SaysHowToGiveIt) {
  Request head;
  const auto missing = refuse_without_token(head, "secret");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 401);
  EXPECT_THAT(*missing->headers.find("WWW-Authenticate"), HasSubstr("Bearer"));
  EXPECT_THAT(missing->body, HasSubstr("MLFLOW_TRACKING_TOKEN"));
  EXPECT_THAT(missing->body, HasSubstr(R"("error_code":"UNAUTHENTICATED")"));
  head.headers.add("authorization", "Bearer wrong");
  const auto wrong = refuse_without_token(head, "secret");
  ASSERT_TRUE(wrong);
  EXPECT_THAT(wrong->body, testing::Not(HasSubstr("secret")));
  head.headers = {{"authorization", "Bearer secret"}};
  EXPECT_FALSE(refuse_without_token(head, "secret"));
}

}  // namespace
}  // namespace plimsoll::serve
