#include <limits>

#include <nlohmann/json.hpp>

#include "serve/mlflow/batch.hpp"

namespace plimsoll::serve::mlflow {
namespace {

/// Takes the parser's events as long as they are those of a plain message: text, whole numbers and numbers
/// where they belong, nothing nested deeper, no name twice. Every function gives false to end the reading.
class PlainBatch {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  [[nodiscard]] LoggedBatch take() { return std::move(batch_); }

  bool null() { return false; }
  bool boolean(bool /*value*/) { return false; }
  bool binary(binary_t& /*value*/) { return false; }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*problem*/) {
    return false;
  }

  bool number_integer(number_integer_t value) { return whole(value); }
  bool number_unsigned(number_unsigned_t value) {
    return value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()) &&
           whole(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) {
    if (place_ != Place::metric || field_ != Field::value) return false;
    metric_.value = value;
    return taken();
  }
  bool string(string_t& value);
  bool key(string_t& name);
  bool start_object(std::size_t /*elements*/);
  bool end_object();
  bool start_array(std::size_t /*elements*/);
  bool end_array();

 private:
  enum class Place { outside, message, metrics, metric, params, param, tags, tag, done };
  enum class Field { none, run, list, key, value, timestamp, step, model, dataset_name, dataset_digest };

  /// The value of the name before has come.
  bool taken() {
    field_ = Field::none;
    return true;
  }
  bool whole(std::int64_t value);
  bool name_of_metric(const string_t& name);
  bool expect(Field field) {
    const auto bit = 1U << static_cast<unsigned>(field);
    if ((seen_ & bit) != 0) return false;
    seen_ |= bit;
    field_ = field;
    return true;
  }
  [[nodiscard]] bool has(Field field) const { return (seen_ & 1U << static_cast<unsigned>(field)) != 0; }

  LoggedBatch batch_;
  LoggedMetric metric_;
  LoggedBatch::Pair pair_;
  Place place_ = Place::outside, list_ = Place::outside;
  Field field_ = Field::none;
  unsigned seen_ = 0;      // fields of the entry at hand
  unsigned of_whole_ = 0;  // and of the message
};

bool PlainBatch::whole(std::int64_t value) {
  if (place_ != Place::metric) return false;
  if (field_ == Field::value)
    metric_.value = static_cast<double>(value);
  else if (field_ == Field::timestamp)
    metric_.timestamp = value;
  else if (field_ == Field::step)
    metric_.step = value;
  else
    return false;
  return taken();
}

bool PlainBatch::string(string_t& value) {
  if (place_ == Place::message && field_ == Field::run) {
    batch_.run = std::move(value);
  } else if (place_ == Place::param || place_ == Place::tag) {
    (field_ == Field::key ? pair_.first : pair_.second) = std::move(value);
  } else if (place_ == Place::metric) {
    if (field_ == Field::key)
      metric_.key = std::move(value);
    else if (field_ == Field::model)
      metric_.model = std::move(value);
    else if (field_ == Field::dataset_name)
      metric_.dataset_name = std::move(value);
    else if (field_ == Field::dataset_digest)
      metric_.dataset_digest = std::move(value);
    else
      return false;  // "NaN", numbers as text
  } else {
    return false;
  }
  return taken();
}

bool PlainBatch::name_of_metric(const string_t& name) {
  if (name == "key") return expect(Field::key);
  if (name == "value") return expect(Field::value);
  if (name == "timestamp") return expect(Field::timestamp);
  if (name == "step") return expect(Field::step);
  if (name == "model_id") return expect(Field::model);
  if (name == "dataset_name") return expect(Field::dataset_name);
  return name == "dataset_digest" && expect(Field::dataset_digest);
}

bool PlainBatch::key(string_t& name) {
  if (place_ == Place::metric) return name_of_metric(name);
  if (place_ == Place::param || place_ == Place::tag)
    return name == "key" ? expect(Field::key) : name == "value" && expect(Field::value);
  if (place_ != Place::message) return false;
  if (name == "run_id") {
    field_ = Field::run;
    return batch_.run.empty();
  }
  field_ = Field::list;
  list_ = name == "metrics"  ? Place::metrics
          : name == "params" ? Place::params
          : name == "tags"   ? Place::tags
                             : Place::outside;
  const auto bit = 1U << static_cast<unsigned>(list_);
  if (list_ == Place::outside || (of_whole_ & bit) != 0) return false;
  of_whole_ |= bit;
  return true;
}

bool PlainBatch::start_object(std::size_t /*elements*/) {
  seen_ = 0;
  if (place_ == Place::outside)
    place_ = Place::message;
  else if (place_ == Place::metrics)
    place_ = Place::metric;
  else if (place_ == Place::params)
    place_ = Place::param;
  else if (place_ == Place::tags)
    place_ = Place::tag;
  else
    return false;
  return true;
}

bool PlainBatch::end_object() {
  if (place_ == Place::message) {
    place_ = Place::done;
    return !batch_.run.empty();
  }
  const bool metric = place_ == Place::metric;
  if (!has(Field::key) || (metric && (!has(Field::value) || !has(Field::timestamp)))) return false;
  if (metric) {
    if (metric_.key.empty()) return false;
    batch_.metrics.push_back(std::exchange(metric_, {}));
    place_ = Place::metrics;
    return true;
  }
  if (pair_.first.empty()) return false;
  (place_ == Place::param ? batch_.params : batch_.tags).push_back(std::exchange(pair_, {}));
  place_ = place_ == Place::param ? Place::params : Place::tags;
  return true;
}

bool PlainBatch::start_array(std::size_t /*elements*/) {
  if (place_ != Place::message || field_ != Field::list) return false;
  place_ = list_;
  return taken();
}

bool PlainBatch::end_array() {
  if (place_ != Place::metrics && place_ != Place::params && place_ != Place::tags) return false;
  place_ = Place::message;
  return true;
}

}  // namespace

std::optional<LoggedBatch> read_plain_batch(std::string_view json) {
  PlainBatch events;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events)) return std::nullopt;
  return events.take();
}

}  // namespace plimsoll::serve::mlflow
