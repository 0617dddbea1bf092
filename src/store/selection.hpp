#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/database.hpp"
#include "store/experiment.hpp"
#include "store/filter.hpp"

namespace plimsoll::store {

/// A search as a statement over `run r`, with its `experiment e` where that is needed, over `experiment e`,
/// over `model m`, over `registered_model g`, or over `model_version v` with its `g`. Nothing that a user
/// wrote is ever part of its text. A metric, param or tag that is asked about is joined once, however often
/// it is named: a database may then read it in whatever order is quickest.
class Selection {
 public:
  explicit Selection(Subject subject) : subject_(subject) {}

  void in_view(View view);                      ///< of what can be marked as deleted: not of the registry
  void in_experiment(const std::string& name);  ///< of runs
  /// Of runs and models; nothing where there are no numbers.
  [[nodiscard]] Status in_experiments(std::span<const std::int64_t> numbers);
  /// A filter as people write it.
  [[nodiscard]] Status matching(std::string_view text);
  void matching(const Filter& filter);
  /// In either direction those whose value is no number (NaN) follow those with one, and things without the
  /// value come last.
  [[nodiscard]] Status ordered_by(std::span<const std::string> orders);

  /// The statement with its values, ready to be read. `columns` is part of the program.
  [[nodiscard]] Query page(Database& database, std::string_view columns, std::size_t limit,
                           std::size_t offset) const;
  /// How many there are of it, in a row of one integer.
  [[nodiscard]] Query count(Database& database) const;

 private:
  /// A part of the statement and the values of its question marks, in their order.
  struct Part {
    std::string text = {};
    std::vector<std::variant<double, std::string>> values = {};
  };

  void join_experiment();
  void add_attribute(Part& out, Field::Attribute attribute);
  void add_value(Part& out, const Field& field);
  void add_condition(const Comparison& comparison);
  void add_presence(Part& out, const Field& field);
  void add_null_test(const Comparison& comparison);
  void add_comparison(const Comparison& comparison);

  Subject subject_;
  std::vector<Field> joined_;  ///< k0, k1…
  bool has_experiment_ = false;
  Part joins_, conditions_, orders_;
};

/// The integers of the page's first column.
[[nodiscard]] Result<std::vector<std::int64_t>> numbers_of(Query page);

}  // namespace plimsoll::store
