#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>

#include "store/database.hpp"
#include "store/run.hpp"

/// What runs have read and made, as rows of the database. Callers hold a transaction.
namespace plimsoll::store {

[[nodiscard]] Status insert_inputs(Database& database, std::int64_t run, std::span<const Input> inputs);
[[nodiscard]] Status insert_model_links(Database& database, std::int64_t run, bool output,
                                        std::span<const ModelLink> links);

/// Runs that are being read, by their numbers.
using RunsByNumber = std::unordered_map<std::int64_t, Run*>;

/// Inputs and outputs of some runs.
class InputQueries {
 public:
  InputQueries(Database& database, std::span<const std::int64_t> runs);
  [[nodiscard]] Status start();
  [[nodiscard]] Status load(const RunsByNumber& runs);

 private:
  Query inputs_, tags_, links_;
};

}  // namespace plimsoll::store
