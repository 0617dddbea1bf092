#pragma once
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "store/store.hpp"

namespace plimsoll::store::test {

/// A directory of the test's own, with a store in it.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_) << directory_.error().text();
    path_ = directory_->path() / "runs" / "plimsoll.db";
    store_ = reopened();
    ASSERT_NE(store_, nullptr);
  }

  std::unique_ptr<Store> reopened(const OpenOptions& options = {}) {
    Result<std::unique_ptr<Store>> opened = open(path_.string(), options);
    if (!opened) ADD_FAILURE() << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }

  std::string new_run(const NewRun& run = {}) {
    const Result<std::string> id = store_->create(run);
    if (!id) ADD_FAILURE() << id.error().text();
    return id.value_or("");
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("store-test");
  std::filesystem::path path_;
  std::unique_ptr<Store> store_;
};

/// `count` points from step `first` on, a millisecond apart; a point's value is its step.
inline std::vector<Point> counting(std::int64_t first, std::int64_t count) {
  std::vector<Point> out;
  for (std::int64_t i = first; i < first + count; ++i)
    out.push_back({1'000'000 + i * 1000, i, static_cast<double>(i)});
  return out;
}

}  // namespace plimsoll::store::test
