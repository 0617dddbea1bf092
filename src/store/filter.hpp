#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::store {

/// What is looked for.
enum class Subject { runs, experiments, models, registered_models, model_versions };

/// What a run, an experiment or a logged model is asked about, as MLflow names it: metrics.loss, params.lr,
/// tags.model, datasets.name, attributes.status.
struct Field {
  enum class Kind { metric, param, tag, dataset, attribute };
  /// Those that a thing has of itself; `duration` (seconds) and `experiment_name` are Plimsoll's own.
  enum class Attribute {
    run_id,
    run_name,
    status,
    start_time,
    end_time,
    duration,
    experiment_name,
    user_id,
    artifact_uri,
    name,  ///< of an experiment or a model, as all that follow
    creation_time,
    last_update_time,
    experiment_id,  ///< of an experiment
    model_id,
    model_type,
    source_run_id,
    version_number,  ///< of a version of a registered model, as source_path
    source_path,
  };
  Kind kind = Kind::attribute;
  std::string key = {};  ///< of a metric, param or tag; of a dataset: name, digest or context
  Attribute attribute = Attribute::start_time;  ///< where kind says so
  friend bool operator==(const Field&, const Field&) = default;
};

/// Whether it compares as a number (a metric's latest value, milliseconds since 1970, seconds) or as a text.
[[nodiscard]] bool is_number(const Field& field);
/// A number that stands for a thing: several may be asked for, and clients write it in quotes too.
[[nodiscard]] bool is_id(const Field& field);

enum class Comparator {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  like,   ///< % any text, _ any one character
  ilike,  ///< the same without regard to ASCII case
  in,
  not_in,
  is_null,
  is_not_null,
};

struct Comparison {
  Field field;
  Comparator comparator = Comparator::equal;
  /// Numbers or texts, as the field has them; one, but for `in` (at least one) and `is_null` (none).
  std::vector<std::variant<double, std::string>> values = {};
  friend bool operator==(const Comparison&, const Comparison&) = default;
};

/// All of them must hold. A run without the metric, param or tag does not match but by `is_null`.
using Filter = std::vector<Comparison>;

/// MLflow's filter language: `metrics.loss < 0.1 and tags."model name" LIKE 'res%'`. Strings are in single or
/// double quotes, keys with other characters in double quotes or backticks. Times are milliseconds since
/// 1970, or, of Plimsoll's own, '2026-11-15' or '2026-11-15T10:30:00Z' (UTC). Errors say at which character.
[[nodiscard]] Result<Filter> parse_filter(std::string_view text, Subject subject = Subject::runs);

struct Order {
  Field field;
  bool descending = false;
  friend bool operator==(const Order&, const Order&) = default;
};

/// "metrics.loss", "metrics.loss ASC", "attributes.start_time DESC".
[[nodiscard]] Result<Order> parse_order(std::string_view text, Subject subject = Subject::runs);

/// SQL's LIKE in time proportional to both lengths' product at most; _ is one UTF-8 character.
[[nodiscard]] bool like(std::string_view text, std::string_view pattern, bool ignore_case);

}  // namespace plimsoll::store
