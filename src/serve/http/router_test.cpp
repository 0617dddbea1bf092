#include "serve/http/router.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::array<Route, 9> kRoutes = {{
    {"GET", "/"},
    {"GET", "/runs/search"},
    {"POST", "/runs/search"},
    {"GET", "/runs/{id}"},
    {"DELETE", "/runs/{run}"},
    {"GET", "/runs/{id}/metrics/{name}"},
    {"GET", "/files/{path...}"},
    {"PUT", "/files/{path...}"},
    {"GET", "/runs/{id}/metrics/latest"},
}};

class RouterTest : public testing::Test {
 protected:
  Router router_ = *Router::make(kRoutes);

  Router::Found found(std::string_view method, std::string_view path) {
    const auto result = router_.find(method, path);
    if (const auto* found = std::get_if<Router::Found>(&result)) return *found;
    ADD_FAILURE() << method << " " << path;
    return {99, {}};
  }
  bool is_missing(std::string_view path) {
    return std::holds_alternative<Router::NoSuchPath>(router_.find("GET", path));
  }
};

TEST_F(RouterTest, FindsLiteralsNamesAndRests) {
  EXPECT_EQ(found("GET", "/").route, 0U);
  EXPECT_EQ(found("POST", "/runs/search").route, 2U);
  EXPECT_THAT(found("GET", "/runs/search").parameters, IsEmpty());
  EXPECT_EQ(found("GET", "/runs/ab").route, 3U);
  EXPECT_THAT(found("DELETE", "/runs/ab").parameters, ElementsAre(Pair("run", "ab")));
  EXPECT_THAT(found("GET", "/runs/ab/metrics/loss").parameters,
              ElementsAre(Pair("id", "ab"), Pair("name", "loss")));
  EXPECT_THAT(found("PUT", "/files/a/../b").parameters, ElementsAre(Pair("path", "a/../b")));
  EXPECT_THAT(found("GET", "/files/").parameters, ElementsAre(Pair("path", "")));
}

TEST_F(RouterTest, PrefersTheMoreParticular) {
  EXPECT_EQ(found("GET", "/runs/ab/metrics/latest").route, 8U);
  // Only the pattern with a name has the method.
  EXPECT_EQ(found("DELETE", "/runs/search").route, 4U);
}

TEST_F(RouterTest, TakesHeadForGet) {
  EXPECT_EQ(found("HEAD", "/runs/search").route, 1U);
  EXPECT_EQ(found("HEAD", "/runs/ab").route, 3U);
  constexpr std::array<Route, 2> kOwn = {{{"GET", "/{x}"}, {"HEAD", "/{x}"}}};
  const auto own = *Router::make(kOwn);
  EXPECT_EQ(std::get<Router::Found>(own.find("HEAD", "/a")).route, 1U);
}

TEST_F(RouterTest, TellsMissingPathsFromWrongMethods) {
  for (const char* path : {"", "runs", "/nobody", "/runs", "/runs/", "/runs//", "/runs/a/", "/runs/a/metrics",
                           "/files", "//", "/runs/a/metrics/b/c"})
    EXPECT_TRUE(is_missing(path)) << path;
  const auto wrong = router_.find("PATCH", "/runs/search");
  ASSERT_TRUE(std::holds_alternative<Router::WrongMethod>(wrong));
  EXPECT_EQ(std::get<Router::WrongMethod>(wrong).allowed, "DELETE, GET, HEAD, POST");
}

TEST(Router, RefusesBadTables) {
  const auto error = [](std::initializer_list<Route> routes) {
    const auto router = Router::make(std::span(routes.begin(), routes.size()));
    return router ? std::string("none") : router.error().text();
  };
  EXPECT_THAT(error({{"GET", "runs"}}), HasSubstr("begins with"));
  EXPECT_THAT(error({{"GET", "/{path...}/x"}}), HasSubstr("at the end"));
  for (const char* pattern : {"/a{b}", "/{}", "/{...}", "/{a", "/a}", "/{a}{b}", "/{a}b"})
    EXPECT_THAT(error({{"GET", pattern}}), HasSubstr("brace")) << pattern;
  EXPECT_THAT(error({{"GET", "/a/{b}"}, {"GET", "/a/{c}"}}), HasSubstr("two routes"));
  EXPECT_THAT(error({{"GET", "/a"}, {"GET", "/a"}}), HasSubstr("two routes"));
  EXPECT_EQ(error({{"GET", "/a"}, {"POST", "/a"}, {"GET", "/a/{x...}"}}), "none");
}

}  // namespace
}  // namespace plimsoll::serve
