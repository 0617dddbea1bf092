#include "store/registry.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using Texts = std::map<std::string, std::string>;

class RegistryOfModels : public test::EveryStore {
 protected:
  Registry& registry() { return store_->registry(); }
  std::int64_t add(const std::string& model, const NewModelVersion& version = {}) {
    NewModelVersion made = version;
    made.model = model;
    if (made.source.empty()) made.source = "s3://there";
    const Result<ModelVersion> added = registry().create_version(made);
    if (!added) ADD_FAILURE() << added.error().text();
    return added ? added->version : 0;
  }
  std::string versions(const RegistrySearch& search) {
    const Result<std::vector<ModelVersion>> found = registry().search_versions(search);
    if (!found) return found.error().text();
    std::string out;
    for (const ModelVersion& v : *found) out += fmt::format("{}/{} ", v.model, v.version);
    return out;
  }
  std::string models(const RegistrySearch& search) {
    const Result<std::vector<RegisteredModel>> found = registry().search(search);
    if (!found) return found.error().text();
    std::string out;
    for (const RegisteredModel& m : *found) out += m.name + " ";
    return out;
  }
};

TEST_P(RegistryOfModels, AreGivenBackAsTheyWereMade) {
  const std::string odd = "ö ☃ 'quoted' \"x\" % _ \\ .";
  const Result<RegisteredModel> made =
      registry().create({.name = odd, .description = "what", .tags = {{"a", "1"}}});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->tags, (Texts{{"a", "1"}}));
  EXPECT_EQ(registry().create({.name = odd}).error().kind, Error::Kind::exists_already);
  for (const std::string name : {"", "a/b", "a:b", ".", ".."})
    EXPECT_FALSE(registry().create({.name = name}));
  EXPECT_FALSE(registry().create({.name = std::string(257, 'x')}));
  EXPECT_TRUE(registry().create({.name = std::string(256, 'x'), .tags = {{"k", std::string(100'000, 'v')}}}));
  EXPECT_FALSE(registry().create({.name = "y", .tags = {{"k", std::string(100'001, 'v')}}}));
  EXPECT_EQ(registry().model("y").error().kind, Error::Kind::not_found);

  const Result<ModelVersion> version = registry().create_version({.model = odd,
                                                                  .source = "models:/m-1",
                                                                  .location = "mlflow-artifacts:/0/x",
                                                                  .description = "d",
                                                                  .run = "r",
                                                                  .run_link = "http://x/r",
                                                                  .logged_model = "m-1",
                                                                  .tags = {{"t", "u"}}});
  ASSERT_TRUE(version) << version.error().text();
  EXPECT_EQ(version->version, 1);
  EXPECT_EQ(version->stage, ModelStage::none);
  EXPECT_EQ(version->status, "READY");
  EXPECT_EQ(*registry().version(odd, 1), *version);
  EXPECT_EQ(registry().version(odd, 2).error().kind, Error::Kind::not_found);
  EXPECT_EQ(registry().create_version({.model = "nobody"}).error().kind, Error::Kind::not_found);
  EXPECT_EQ(registry().create_version({.model = odd, .version = 1}).error().kind,
            Error::Kind::exists_already);
  EXPECT_EQ(registry().model(odd)->latest, (std::vector<ModelVersion>{*version}));
}

TEST_P(RegistryOfModels, VersionsAreNumberedOneAfterTheOtherAndNeverAgain) {
  ASSERT_TRUE(registry().create({.name = "net"}));
  for (std::int64_t i = 1; i <= 3; ++i) EXPECT_EQ(add("net"), i);
  ASSERT_TRUE(registry().remove_version("net", 3));
  EXPECT_EQ(registry().remove_version("net", 3).error().kind, Error::Kind::not_found);
  EXPECT_EQ(add("net"), 4);
  EXPECT_EQ(add("net", {.version = 9}), 9) << "from elsewhere";
  EXPECT_EQ(add("net", {.version = 6}), 6);
  EXPECT_EQ(add("net"), 10);
  ASSERT_TRUE(registry().change("net", {.last_version = 20}));
  ASSERT_TRUE(registry().change("net", {.last_version = 2}));
  EXPECT_EQ(add("net"), 21);
  EXPECT_FALSE(registry().create_version({.model = "net", .tags = {{"", "no name"}}}));
  EXPECT_EQ(add("net"), 22) << "what was refused took no number";
}

TEST_P(RegistryOfModels, ManyAtOnceGetEveryNumberOnce) {
  constexpr int kThreads = 8, kEach = 25;
  ASSERT_TRUE(registry().create({.name = "net"}));
  std::vector<std::vector<std::int64_t>> numbers(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (int k = 0; k < kEach; ++k) numbers.at(static_cast<std::size_t>(i)).push_back(add("net"));
      });
  }
  std::set<std::int64_t> all;
  for (const auto& each : numbers) {
    EXPECT_TRUE(std::ranges::is_sorted(each));
    all.insert(each.begin(), each.end());
  }
  EXPECT_EQ(all.size(), std::size_t{kThreads * kEach});
  EXPECT_EQ(*all.begin(), 1);
  EXPECT_EQ(*all.rbegin(), kThreads * kEach);
}

TEST_P(RegistryOfModels, AliasesNameVersionsAndGoWithThem) {
  ASSERT_TRUE(registry().create({.name = "net"}));
  add("net");
  add("net");
  ASSERT_TRUE(registry().change("net", {.aliases = {{"champion", 1}, {"best", 1}}}));
  ASSERT_TRUE(registry().change("net", {.aliases = {{"champion", 2}}}));
  EXPECT_EQ(registry().model("net")->aliases,
            (std::map<std::string, std::int64_t>{{"best", 1}, {"champion", 2}}));
  EXPECT_EQ(registry().version("net", 2)->aliases, std::vector<std::string>{"champion"});
  EXPECT_EQ(registry().change("net", {.aliases = {{"champion", 3}}}).error().kind, Error::Kind::not_found);
  EXPECT_FALSE(registry().change("net", {.aliases = {{"a/b", 1}}}));
  ASSERT_TRUE(registry().remove_version("net", 2));
  ASSERT_TRUE(registry().change("net", {.aliases_removed = {"never"}}));
  EXPECT_EQ(registry().model("net")->aliases, (std::map<std::string, std::int64_t>{{"best", 1}}));
}

TEST_P(RegistryOfModels, StagesMoveAndArchiveTheOthers) {
  ASSERT_TRUE(registry().create({.name = "net"}));
  for (int i = 0; i < 3; ++i) add("net");
  ASSERT_TRUE(registry().change_version("net", 1, {.stage = ModelStage::production}));
  const Result<ModelVersion> second =
      registry().change_version("net", 2, {.stage = ModelStage::production, .archives_others = true});
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->stage, ModelStage::production);
  EXPECT_EQ(registry().version("net", 1)->stage, ModelStage::archived);
  const Result<RegisteredModel> model = registry().model("net");
  ASSERT_EQ(model->latest.size(), 3U);
  EXPECT_EQ(model->latest[0].version, 3);
  EXPECT_EQ(model->latest[1].version, 2);
  EXPECT_EQ(model->latest[2].version, 1);
  ASSERT_TRUE(registry().change_version("net", 2, {.description = "d", .tags = {{"a", "b"}, {"c", "d"}}}));
  ASSERT_TRUE(registry().change_version("net", 2, {.tags_removed = {"a", "never"}}));
  EXPECT_EQ(registry().version("net", 2)->tags, (Texts{{"c", "d"}}));
  EXPECT_EQ(registry().version("net", 2)->description, "d");
}

TEST_P(RegistryOfModels, AreRenamedAndRemovedWithAllThatIsTheirs) {
  ASSERT_TRUE(registry().create({.name = "net", .tags = {{"a", "b"}}}));
  ASSERT_TRUE(registry().create({.name = "other"}));
  add("net", {.tags = {{"t", "u"}}});
  ASSERT_TRUE(registry().change("net", {.aliases = {{"best", 1}}}));
  EXPECT_EQ(registry().change("net", {.name = "other"}).error().kind, Error::Kind::exists_already);
  EXPECT_EQ(registry().change("nobody", {.name = "x"}).error().kind, Error::Kind::not_found);
  ASSERT_TRUE(registry().change("net", {.name = "renamed", .description = "new"}));
  EXPECT_EQ(registry().version("renamed", 1)->tags, (Texts{{"t", "u"}}));
  EXPECT_EQ(registry().version("net", 1).error().kind, Error::Kind::not_found);
  ASSERT_TRUE(registry().remove("renamed"));
  EXPECT_EQ(registry().remove("renamed").error().kind, Error::Kind::not_found);
  EXPECT_EQ(versions({}), "");
  ASSERT_TRUE(registry().create({.name = "renamed"}));
  EXPECT_EQ(add("renamed"), 1);
}

TEST_P(RegistryOfModels, AreSearched) {
  for (const std::string name : {"b", "a", "C"})
    ASSERT_TRUE(registry().create({.name = name, .tags = {{"team", name == "a" ? "blue" : "red"}}}));
  add("a", {.source = "s3://one", .run = "r1"});
  add("a", {.source = "s3://two", .run = "r2", .tags = {{"k", "v"}}});
  add("b", {.run = "r1"});
  EXPECT_EQ(models({}), "C a b ");
  EXPECT_EQ(models({.order_by = {"name DESC"}}), "b a C ");
  EXPECT_EQ(models({.limit = 1, .offset = 1}), "a ");
  EXPECT_EQ(models({.filter = "name ILIKE 'c%'"}), "C ");
  EXPECT_EQ(models({.filter = "tags.team = 'red' and name != 'b'"}), "C ");
  EXPECT_EQ(models({.filter = "tags.`mlflow.prompt.is_prompt` != 'true'"}), "C a b ");
  EXPECT_EQ(models({.filter = "tags.`mlflow.prompt.is_prompt` = 'true'"}), "");
  EXPECT_EQ(models({.filter = "name IN ('a', 'b')"}), "a b ");
  EXPECT_EQ(versions({.order_by = {"name", "version_number"}}), "a/1 a/2 b/1 ");
  EXPECT_EQ(versions({.filter = "name = 'a'", .order_by = {"version_number DESC"}}), "a/2 a/1 ");
  EXPECT_EQ(versions({.filter = "run_id = 'r1'", .order_by = {"name"}}), "a/1 b/1 ");
  EXPECT_EQ(versions({.filter = "run_id IN ('r2')"}), "a/2 ");
  EXPECT_EQ(versions({.filter = "source_path = 's3://two'"}), "a/2 ");
  EXPECT_EQ(versions({.filter = "tags.k = 'v'"}), "a/2 ");
  EXPECT_EQ(versions({.filter = "version_number > 1"}), "a/2 ");
  EXPECT_EQ(versions({.filter = "version_number = '2' and name = 'a'"}), "a/2 ");
  for (const std::string wrong :
       {"version_number = 1.5", "metrics.x = 1", "nothing = 'x'", "name > 'a'", "name = 'a' or name = 'b'"})
    EXPECT_FALSE(registry().search_versions({.filter = wrong})) << wrong;
  EXPECT_FALSE(registry().search({.order_by = {"name", "name DESC"}}));
  EXPECT_FALSE(registry().search({.order_by = {"tags.team"}}));
}

PLIMSOLL_IN_EVERY_STORE(RegistryOfModels);

}  // namespace
}  // namespace plimsoll::store
