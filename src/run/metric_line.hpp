#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::running {

/// `metric loss 0.12 step 40 epoch 2`
struct MetricLine {
  std::string name;
  double value = 0;
  std::optional<std::int64_t> step = {};
  std::optional<std::int64_t> epoch = {};
  friend bool operator==(const MetricLine&, const MetricLine&) = default;
};
/// `epoch 3`: the third epoch has ended.
struct EpochLine {
  std::int64_t epoch = 0;
  friend bool operator==(const EpochLine&, const EpochLine&) = default;
};
/// `param lr 0.1`
struct ParamLine {
  std::string name;
  std::string value;
  friend bool operator==(const ParamLine&, const ParamLine&) = default;
};
/// `artifact out/model.pt`: a file below the job's directory, to be kept when the command has ended.
struct ArtifactLine {
  std::string path;
  friend bool operator==(const ArtifactLine&, const ArtifactLine&) = default;
};
/// `saved step 400`: from there on it could go on if it were ended now.
struct SavedLine {
  std::string text;
  friend bool operator==(const SavedLine&, const SavedLine&) = default;
};
using Statement = std::variant<MetricLine, EpochLine, ParamLine, ArtifactLine, SavedLine>;

inline constexpr std::string_view kStatementPrefix = "plimsoll: ";
inline constexpr std::size_t kLongestMetricName = 250;  // MLflow's limit

/// What a command says about itself: one statement, without prefix and newline.
[[nodiscard]] Result<Statement> parse_statement(std::string_view text);

/// The statement of a line of output that begins with "plimsoll: ". Further on in a line it is somebody's
/// text: what a program prints of its data must not speak for the program. Nothing where there is none, or
/// where it cannot be understood: output is not ours to refuse.
[[nodiscard]] std::optional<Statement> statement_in(std::string_view line);

/// What is wrong with a line that states a metric, so that it is told: a value that is no number, or one
/// larger than any that can be kept. Nothing for every other line.
[[nodiscard]] std::optional<std::string> unreadable_metric(std::string_view line);

/// Finds a metric in lines of a form that the user describes by a regular expression (RE2: linear time):
/// `loss=(?P<value>[0-9.]+)` with NAME, or groups `name`, `value`, `step`, `epoch`; without a group `value`
/// the first group without a name is it.
class MetricPattern {
 public:
  /// `text`: "NAME=EXPRESSION", or an expression with a group `name`.
  [[nodiscard]] static Result<MetricPattern> make(std::string_view text);
  [[nodiscard]] std::optional<MetricLine> match(std::string_view line) const;

  MetricPattern(MetricPattern&&) noexcept;
  MetricPattern& operator=(MetricPattern&&) noexcept;
  ~MetricPattern();

 private:
  struct Compiled;
  explicit MetricPattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace plimsoll::running
