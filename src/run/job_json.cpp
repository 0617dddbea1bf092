#include "run/job_json.hpp"

#include <algorithm>
#include <array>

#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace plimsoll::running {
namespace {

using job::Fields;
using job::Json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLargestText = std::size_t{16} << 20;
constexpr int kMostLevels = 4;  // a pair's text that is no UTF-8

constexpr std::array<std::string_view, 20> kKeys{"command",
                                                 "experiment",
                                                 "workload",
                                                 "name",
                                                 "directory",
                                                 "environment",
                                                 "devices",
                                                 "sharing",
                                                 "need_bytes",
                                                 "estimate",
                                                 "mps_percentage",
                                                 "mps_memory_bytes",
                                                 "after",
                                                 "start_seconds",
                                                 "time_limit_seconds",
                                                 "epoch_limit",
                                                 "params",
                                                 "tags",
                                                 "metric_patterns",
                                                 "artifacts"};

Json pairs_json(const Pairs& pairs) {
  Json list = Json::array();
  for (const auto& [name, value] : pairs)
    list.push_back(Json::array({job::text_json(name), job::text_json(value)}));
  return list;
}

std::vector<std::string> as_texts(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> out;
  for (const std::filesystem::path& path : paths) out.push_back(path.string());
  return out;
}

bool has_zero(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

/// Words that are handed to the kernel, which ends them at a zero byte.
std::vector<std::string> read_words(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return {};
  std::vector<std::string> words = fields.texts(key);
  if (std::ranges::any_of(words, has_zero)) fields.complain(key, "holds a zero byte");
  return words;
}

std::string read_text(const Fields& fields, std::string_view key, std::string otherwise = {}) {
  if (!fields.has(key)) return otherwise;
  std::string text = fields.text(key);
  if (has_zero(text)) fields.complain(key, "holds a zero byte");
  return text;
}

Pairs read_pairs(const Fields& fields, std::string_view key) {
  Pairs out;
  if (!fields.has(key)) return out;
  for (const Json& item : fields.list(key)) {
    const bool two = item.is_array() && item.size() == 2;
    auto name = two ? job::text_of(item[0]) : std::nullopt;
    auto value = two ? job::text_of(item[1]) : std::nullopt;
    if (!name || !value || name->empty()) {
      fields.complain(key, "is not a list of pairs of a name and a text");
      return {};
    }
    out.emplace_back(*std::move(name), *std::move(value));
  }
  return out;
}

/// Names that a process's environment can hold.
void check_environment(const Fields& fields, const Variables& environment) {
  for (const auto& [name, value] : environment)
    if (name.find('=') != std::string::npos || has_zero(name) || has_zero(value))
      fields.complain("environment", fmt::format("{} cannot be a variable", quote(name)));
}

std::optional<Bytes> read_bytes(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return {};
  return Bytes(fields.whole(key, 1));
}

std::optional<double> read_real(const Fields& fields, std::string_view key, double most) {
  if (!fields.has(key)) return {};
  const double value = fields.not_negative(key);
  if (!(value > 0 && value <= most)) fields.complain(key, fmt::format("is not above 0 and up to {}", most));
  return value;
}

std::optional<Seconds> read_start(const Fields& fields) {
  if (!fields.has("start_seconds")) return {};
  const double seconds = fields.not_negative("start_seconds");
  if (seconds > kLongestTimeLimit.value())
    fields.complain("start_seconds", fmt::format("is more than {}", kLongestTimeLimit.value()));
  return Seconds(seconds);
}

Sharing read_sharing(const Fields& fields) {
  if (!fields.has("sharing")) return Sharing::naive;
  const std::string word = fields.text("sharing");
  if (word == name(Sharing::mps)) return Sharing::mps;
  if (word != name(Sharing::naive)) fields.complain("sharing", "is neither naive nor mps");
  return Sharing::naive;
}

std::optional<Error> unknown_key(const Json& object) {
  if (!object.is_object()) return {};
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(kKeys, key) == kKeys.end())
      return Error{fmt::format("there is no key {}", quote(key)), "job", did_you_mean(key, kKeys)};
  return {};
}

}  // namespace

Json job_json(const JobSpec& spec) {
  Json out = {{"command", job::texts_json(spec.command)},
              {"experiment", job::text_json(spec.experiment)},
              {"sharing", name(spec.sharing)}};
  const auto put_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) out[key] = job::text_json(text);
  };
  const auto put_texts = [&](const char* key, const std::vector<std::string>& texts) {
    if (!texts.empty()) out[key] = job::texts_json(texts);
  };
  const auto put_pairs = [&](const char* key, const Pairs& pairs) {
    if (!pairs.empty()) out[key] = pairs_json(pairs);
  };
  put_text("workload", spec.workload);
  put_text("name", spec.name);
  put_text("directory", spec.directory.string());
  put_pairs("environment", spec.environment);
  put_texts("devices", spec.devices);
  if (spec.mps_percentage) out["mps_percentage"] = *spec.mps_percentage;
  if (spec.mps_memory) out["mps_memory_bytes"] = spec.mps_memory->count();
  if (spec.need) out["need_bytes"] = spec.need->count();
  put_texts("estimate", spec.estimate);
  put_texts("after", spec.after);
  if (spec.start) out["start_seconds"] = spec.start->value();
  if (spec.time_limit) out["time_limit_seconds"] = spec.time_limit->value();
  if (spec.epoch_limit) out["epoch_limit"] = *spec.epoch_limit;
  put_pairs("params", spec.params);
  put_pairs("tags", spec.tags);
  put_texts("metric_patterns", spec.metric_patterns);
  put_texts("artifacts", as_texts(spec.artifacts));
  return out;
}

std::string to_json(const JobSpec& spec) {
  return job::dump(job_json(spec));
}

std::string digest_of(const JobSpec& spec) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a: it only has to tell the jobs of a file apart
  for (const char c : to_json(spec)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

Result<JobSpec> read_job_spec(const Json& object) {
  std::optional<Error> error = unknown_key(object);
  const Fields fields(object, "job", error);
  JobSpec spec;
  if (!fields.has("command")) fields.complain("command", "is missing");
  spec.command = read_words(fields, "command");
  if (spec.command.empty()) fields.complain("command", "is empty");
  spec.experiment = read_text(fields, "experiment", spec.experiment);
  spec.workload = read_text(fields, "workload");
  spec.name = read_text(fields, "name");
  spec.directory = read_text(fields, "directory");
  spec.environment = read_pairs(fields, "environment");
  check_environment(fields, spec.environment);
  spec.devices = read_words(fields, "devices");
  spec.sharing = read_sharing(fields);
  spec.mps_percentage = read_real(fields, "mps_percentage", 100);
  spec.mps_memory = read_bytes(fields, "mps_memory_bytes");
  spec.need = read_bytes(fields, "need_bytes");
  spec.estimate = read_words(fields, "estimate");
  spec.after = read_words(fields, "after");
  spec.start = read_start(fields);
  if (const auto seconds = read_real(fields, "time_limit_seconds", kLongestTimeLimit.value()))
    spec.time_limit = Seconds(*seconds);
  if (fields.has("epoch_limit")) spec.epoch_limit = fields.whole("epoch_limit", 1);
  spec.params = read_pairs(fields, "params");
  spec.tags = read_pairs(fields, "tags");
  spec.metric_patterns = read_words(fields, "metric_patterns");
  for (std::string& path : read_words(fields, "artifacts")) spec.artifacts.emplace_back(std::move(path));
  if (spec.sharing != Sharing::mps && (spec.mps_percentage || spec.mps_memory))
    fields.complain("sharing", "is not mps, but an MPS limit is given");
  if (error) return std::unexpected(*std::move(error));
  return spec;
}

Result<JobSpec> job_spec_from_json(std::string_view text) {
  Result<Json> parsed = job::parse_within(text, kLargestText, kMostLevels);
  if (!parsed) return std::unexpected(std::move(parsed).error().within("job"));
  return read_job_spec(*parsed);
}

}  // namespace plimsoll::running
