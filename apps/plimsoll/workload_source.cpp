#include "workload_source.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "job/fields.hpp"
#include "job/setting_json.hpp"
#include "run/toml_document.hpp"

namespace plimsoll {
namespace {

using Document = nlohmann::json;

constexpr std::int64_t kMostBatch = std::int64_t{1} << 24, kMostSequence = std::int64_t{1} << 24;
constexpr double kLeastRate = 1e-3, kLeastArrivals = 0.1, kMostRate = 1e6;  // steps or requests per second
constexpr std::string_view kKeys =
    "name, mode, batch, seq, context, precision, optimizer, loss, channels-last, captured, cudnn-benchmark, "
    "arrivals, alone";

std::unexpected<Error> bad(std::string_view key, std::string_view value, std::string_view hint) {
  return std::unexpected(
      Error{fmt::format("'{}' is no {}", printable(value, 60), key), "", std::string(hint)});
}

Result<std::int64_t> read_count(std::string_view key, std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    return bad(key, text, fmt::format("a whole number from 1 to {}", most));
  return value;
}

Result<double> read_rate(std::string_view key, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= kLeastArrivals) ||
      value > kMostRate)
    return bad(key, text, "a number from 0.1 to 1000000, per second");
  return value;
}

Result<bool> read_flag(std::string_view key, std::string_view text) {
  if (text == "true" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "no" || text == "0") return false;
  return bad(key, text, "true or false");
}

template <class Value>
Status choose(std::string_view key, std::string_view text, std::optional<Value> found, Value& out) {
  if (!found) return bad(key, text, "see `plimsoll estimate --help`");
  out = *found;
  return {};
}

bool is_key(std::string_view word) {
  for (std::string_view rest = kKeys; !rest.empty();) {
    const std::size_t comma = rest.find(", ");
    if (rest.substr(0, comma) == word) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  return false;
}

/// One key of a workload, as text.
Status set(WorkloadRequest& request, std::string_view key, std::string_view value) {
  network::Setting& setting = request.setting;
  const auto count = [&](std::int64_t most, auto&& into) -> Status {
    const auto read = read_count(key, value, most);
    PLIMSOLL_TRY(read);
    into = *read;
    return {};
  };
  const auto flag = [&](auto&& into) -> Status {
    const auto read = read_flag(key, value);
    PLIMSOLL_TRY(read);
    into(*read);
    return {};
  };
  if (key == "name") {
    request.name = value;
    return {};
  }
  if (key == "mode") return choose(key, value, network::mode_named(value), setting.mode);
  if (key == "batch") return count(kMostBatch, setting.batch);
  if (key == "seq" || key == "sequence") return count(kMostSequence, setting.sequence);
  if (key == "context") return count(kMostSequence, setting.context);
  if (key == "precision") return choose(key, value, network::precision_named(value), setting.precision);
  if (key == "optimizer") return choose(key, value, network::optimizer_named(value), setting.optimizer);
  if (key == "loss") return choose(key, value, network::loss_named(value), setting.loss);
  if (key == "channels-last" || key == "channels_last")
    return flag(
        [&](bool on) { setting.layout = on ? network::Layout::channels_last : network::Layout::contiguous; });
  if (key == "captured") return flag([&](bool on) { setting.captured = on; });
  if (key == "cudnn_benchmark" || key == "cudnn-benchmark")
    return flag([&](bool on) { setting.cudnn_benchmark = on; });
  if (key == "arrivals") {
    const auto rate = read_rate(key, value);
    PLIMSOLL_TRY(rate);
    request.arrivals = *rate;
    return {};
  }
  if (key == "alone") {
    if (!value.starts_with("run:") || value.size() == 4)
      return bad(key, value,
                 "run:ID, a run that had the GPU to itself; figures stand in a file (--workloads)");
    request.alone_run = value.substr(4);
    return {};
  }
  return std::unexpected(Error{fmt::format("a workload has no key '{}'", printable(key, 40)), "",
                               fmt::format("there are {}", kKeys)});
}

void name_it(WorkloadRequest& request) {
  if (!request.name.empty()) return;
  const network::Setting& setting = request.setting;
  std::string model = request.model;
  if (const std::size_t slash = model.find_last_of('/');
      slash != std::string::npos && slash + 1 < model.size())
    model = model.substr(slash + 1);
  request.name = fmt::format("{} {}{}{}", model, network::name(setting.mode),
                             setting.batch ? fmt::format(" batch {}", *setting.batch) : "",
                             setting.precision == network::Precision::fp32
                                 ? ""
                                 : fmt::format(" {}", network::name(setting.precision)));
}

Result<std::optional<double>> number_in(const Document& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number() || !std::isfinite(found->get<double>()) || found->get<double>() < 0)
    return std::unexpected(Error{fmt::format("'alone' has a {} that is no number", key), "", ""});
  return found->get<double>();
}

Result<share::Alone> read_alone(const Document& object) {
  if (!object.is_object()) return fail("'alone' is no object");
  share::Alone out;
  const auto rate = number_in(object, "steps_per_second");
  PLIMSOLL_TRY(rate);
  if (!*rate || **rate < kLeastRate || **rate > kMostRate)
    return std::unexpected(Error{"'alone' has no steps_per_second", "",
                                 "how many steps a second it does by itself, from 0.001 to 1000000"});
  out.steps_per_second = **rate;
  const auto take = [&](const char* key, std::optional<double>& into, double most) -> Status {
    const auto read = number_in(object, key);
    PLIMSOLL_TRY(read);
    if (*read && **read > most) return fail("'alone' has a {} above {:g}", key, most);
    into = *read;
    return {};
  };
  constexpr double kShare = 1.0001, kMostWatts = 1e5, kMostBytes = 1e15;
  PLIMSOLL_TRY(take("gract", out.active, kShare));
  constexpr double kLeastActive = 0.01;
  if (out.active && *out.active < kLeastActive)
    return std::unexpected(Error{"'alone' has a gract of next to nothing", "",
                                 "the share of time in which a kernel runs, up to 1"});
  PLIMSOLL_TRY(take("smact", out.sms, kShare));
  PLIMSOLL_TRY(take("occupancy", out.occupancy, kShare));
  PLIMSOLL_TRY(take("dram", out.bandwidth, kShare));
  PLIMSOLL_TRY(take("tensor", out.tensor, kShare));
  PLIMSOLL_TRY(take("watts", out.watts, kMostWatts));
  PLIMSOLL_TRY(take("reserved_bytes", out.reserved_bytes, kMostBytes));
  return out;
}

Status check_model(const std::string& model) {
  if (!model.starts_with("run:")) return {};
  return std::unexpected(Error{
      "a run does not say which kernels it had", "",
      "name its model, and the run as what was measured of it: resnet50,mode=train,batch=32,alone=run:3f2a"});
}

Result<WorkloadRequest> read_object(const Document& object) {
  if (!object.is_object()) return fail("is no object");
  WorkloadRequest out;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) {
      continue;  // as if it were not there
    } else if (key == "model") {
      if (!value.is_string()) return fail("its model is no text");
      out.model = value.get<std::string>();
    } else if (key == "setting") {
      std::optional<Error> error;
      if (!value.is_object()) return fail("its setting is no object");
      out.setting = job::read_setting(job::Fields(value, "setting", error));
      if (error) return std::unexpected(*std::move(error));
    } else if (key == "alone" && !value.is_string()) {
      const auto alone = read_alone(value);
      PLIMSOLL_TRY(alone);
      out.alone = *alone;
    } else {
      if (value.is_object() || value.is_array()) return fail("its {} is no single value", printable(key, 40));
      PLIMSOLL_TRY(set(out, key, value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  if (out.model.empty()) return fail("has no model");
  PLIMSOLL_TRY(check_model(out.model));
  name_it(out);
  return out;
}

}  // namespace

Result<WorkloadRequest> read_workload(std::string_view text) {
  WorkloadRequest out;
  const auto within = [&](Error error) {
    return std::unexpected(std::move(error).within(printable(text, 80)));
  };
  std::string_view rest = text;
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = part.find('=');
    if (first) {
      out.model = part;
      continue;
    }
    // A model's own options go on behind its colon: resnet50:classes=10,input=1x32x32
    const std::string_view key = part.substr(0, equals);
    if (out.model.find(':') != std::string::npos && !is_key(key)) {
      out.model += fmt::format(",{}", part);
      continue;
    }
    if (equals == std::string_view::npos)
      return within(Error{fmt::format("'{}' is no KEY=VALUE", printable(part, 40)), "",
                          fmt::format("keys are {}", kKeys)});
    if (Status done = set(out, part.substr(0, equals), part.substr(equals + 1)); !done)
      return within(std::move(done).error());
  }
  if (Status named = check_model(out.model); !named) return within(std::move(named).error());
  if (out.model.empty())
    return within(Error{"names no model", "", "for example resnet50,mode=train,batch=32"});
  name_it(out);
  return out;
}

Result<std::vector<WorkloadRequest>> read_workloads(std::string_view json, const std::string& name) {
  const auto within = [&](Error error) { return std::unexpected(std::move(error).within(name)); };
  std::string text(json);
  const bool toml = lower_case(name).ends_with(".toml");
  if (toml) {
    auto converted = running::toml_as_json(json);
    if (!converted) return within(std::move(converted).error());
    text = *std::move(converted);
  }
  Document document = Document::parse(text, nullptr, false);
  if (toml && document.is_object() && document.contains("workload")) {
    Document listed = document["workload"];
    document = std::move(listed);
  }
  if (document.is_discarded() || !document.is_array())
    return within(Error{toml ? "has no [[workload]]" : "is no list of workloads in JSON", "",
                        toml ? "for example [[workload]] and below it model = \"resnet50\", batch = 32"
                             : R"(for example [{"model": "resnet50", "batch": 32}])"});
  if (document.empty() || document.size() > kMostWorkloads)
    return within(
        Error{fmt::format("has {} workloads", document.size()), "", fmt::format("1 to {}", kMostWorkloads)});
  std::vector<WorkloadRequest> out;
  for (std::size_t i = 0; i < document.size(); ++i) {
    auto request = read_object(document[i]);
    if (!request) return within(std::move(request).error().within(fmt::format("workload {}", i + 1)));
    out.push_back(*std::move(request));
  }
  return out;
}

}  // namespace plimsoll
