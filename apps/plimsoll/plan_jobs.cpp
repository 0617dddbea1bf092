#include "plan_jobs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "quantity.hpp"
#include "run/toml_document.hpp"

namespace plimsoll {
namespace {

using Document = nlohmann::json;

constexpr std::size_t kMostJobs = 200'000;
constexpr double kMostSeconds = 1e9, kMostCount = 1e12;
constexpr int kMostGpus = 100'000;
constexpr double kMostBatch = 4096;
constexpr std::size_t kMostBatches = 16;

/// One job of the file; the first mistake is kept.
class JobReader {
 public:
  explicit JobReader(const Document& object) : object_(object) {}

  PlanJobRequest read() {
    out_.job.name = text("name");
    out_.kind_name = text("workload");
    const std::string kind = text("kind");
    const bool serves = kind == "service" || object_.contains("rate");
    out_.job.arrival =
        number("arrival", 0, kMostSeconds).value_or(number("arrival_s", 0, kMostSeconds).value_or(0));
    out_.job.priority = number("priority", -1e6, 1e6).value_or(0);
    out_.job.deadline = number("deadline", 0, kMostSeconds);
    out_.job.gpus = static_cast<int>(whole("gpus", kMostGpus).value_or(1));
    out_.job.user = text("user");
    out_.job.can_be_interrupted = object_.contains("save") || flag("interruptible");
    out_.after_names = texts("after");
    out_.apart_names = texts("apart");
    out_.command = texts("command");
    out_.share = number("share", 1e-6, 1);
    const auto seconds = number("seconds", 0, kMostSeconds);
    out_.startup = number("startup", 0, kMostSeconds);
    out_.job.settling = number("settling", 0, kMostSeconds).value_or(0);
    const auto rate = number("rate", 0.1, 1e6);
    const auto limit = number("limit_ms", 1e-3, 1e9);
    out_.within = number("within", 0, 1).value_or(0.99);
    out_.steps = number("steps", 1, kMostCount);
    if (const auto epochs = number("epochs", 1e-6, kMostCount)) read_epochs(*epochs);
    if (const std::string need = text("need"); !need.empty()) {
      if (const auto bytes = parse_bytes(need, "need"))
        out_.need = *bytes;
      else
        complain(bytes.error().text());
    }
    if (object_.contains("model")) read_model(rate);
    if (serves) {
      if (!rate || !limit) complain("a service has a rate (requests per second) and limit_ms");
      if (!out_.workload) complain("a service has a model");
      if (limit) out_.limit = *limit * 1e-3;
      read_batches();
    } else {
      if (!out_.steps && !seconds) complain("has no steps, epochs or seconds: how long is it?");
      if (out_.steps && !out_.workload && !seconds) complain("steps are of a model; a command has seconds");
      out_.job.seconds = seconds.value_or(0);
    }
    check_keys();
    if (out_.job.name.empty() && wrong_.empty()) complain("has no name");
    return std::move(out_);
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  static constexpr std::array kJobKeys = {
      "name",  "kind",          "arrival",  "arrival_s", "priority", "deadline", "gpus",
      "user",  "save",          "after",    "apart",     "command",  "share",    "seconds",
      "rate",  "steps",         "limit_ms", "within",    "epochs",   "samples",  "need",
      "input", "interruptible", "workload", "startup",   "settling", "batches"};

  void complain(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  [[nodiscard]] const Document* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const char* key) {
    const Document* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) complain(fmt::format("its {} is no text", key));
    return value->is_string() ? value->get<std::string>() : "";
  }
  std::optional<double> number(const char* key, double least, double most) {
    const Document* value = find(key);
    if (value == nullptr) return std::nullopt;
    const double out = value->is_number() ? value->get<double>() : std::nan("");
    if (!(out >= least && out <= most)) {
      complain(fmt::format("its {} is no number from {:g} to {:g}", key, least, most));
      return std::nullopt;
    }
    return out;
  }
  std::optional<double> whole(const char* key, double most) {
    const auto out = number(key, 1, most);
    if (out && *out != std::floor(*out)) complain(fmt::format("its {} is no whole number", key));
    return out;
  }
  /// Those that the service's program may form of the requests that wait.
  void read_batches() {
    const Document* value = find("batches");
    if (value == nullptr) return;
    if (object_.contains("batch")) complain("has a batch and batches: one of them");
    if (!value->is_array() || value->empty() || value->size() > kMostBatches)
      return complain(fmt::format("its batches are no list of 1 to {} numbers", kMostBatches));
    for (const Document& item : *value) {
      const double batch = item.is_number() ? item.get<double>() : 0;
      if (!(batch >= 1 && batch <= kMostBatch) || batch != std::floor(batch))
        return complain(fmt::format("its batches are no whole numbers from 1 to {:g}", kMostBatch));
      out_.batches.push_back(static_cast<std::int64_t>(batch));
    }
    std::ranges::sort(out_.batches);
  }
  bool flag(const char* key) {
    const Document* value = find(key);
    if (value != nullptr && !value->is_boolean()) complain(fmt::format("its {} is not true or false", key));
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    const Document* value = find(key);
    if (value == nullptr) return out;
    if (value->is_string()) return {value->get<std::string>()};
    if (!value->is_array()) complain(fmt::format("its {} is no list", key));
    for (const Document& item : *value)
      if (item.is_string())
        out.push_back(item.get<std::string>());
      else
        complain(fmt::format("its {} has something that is no text", key));
    return out;
  }
  void read_epochs(double epochs) {
    const auto samples = number("samples", 1, kMostCount), batch = number("batch", 1, kMostCount);
    if (!samples) return complain("epochs need samples: how many has one?");
    out_.steps = std::ceil(*samples / batch.value_or(1)) * epochs;
  }
  /// What is not the job's own is the workload's, as `plimsoll beside --workloads` takes it.
  void read_model(const std::optional<double>& rate) {
    Document workload = Document::object();
    for (const auto& [key, value] : object_.items())
      if (std::ranges::find(kJobKeys, key) == kJobKeys.end()) workload[key] = value;
    if (const std::string input = text("input"); !input.empty() && workload["model"].is_string()) {
      std::string model = workload["model"].get<std::string>();
      model += (model.find(':') == std::string::npos ? ":input=" : ",input=") + input;
      workload["model"] = model;
    }
    const bool serves = rate.has_value();
    if (!workload.contains("mode") && !workload.contains("setting"))
      workload["mode"] = serves ? "infer" : "train";
    if (serves) {
      workload["arrivals"] = *rate;
      if (!workload.contains("captured")) workload["captured"] = true;
    }
    auto read = read_workloads("[" + workload.dump() + "]", "");
    if (!read) return complain(read.error().message);
    out_.workload_key = workload.dump();
    out_.workload = std::move(read->front());
  }
  void check_keys() {
    if (out_.workload) return;  // the workload's reader has looked
    for (const auto& [key, value] : object_.items())
      if (std::ranges::find(kJobKeys, key) == kJobKeys.end() && key != "model")
        complain(fmt::format("a job without a model has no key '{}'", printable(key, 40)));
  }

  const Document& object_;
  PlanJobRequest out_;
  std::string wrong_;
};

/// Names become places in the list.
void resolve(std::vector<PlanJobRequest>& jobs, std::vector<Error>& wrong) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (!jobs[i].job.name.empty() && !by_name.emplace(jobs[i].job.name, i).second)
      wrong.push_back({"stands twice", printable(jobs[i].job.name, 60)});
  for (PlanJobRequest& job : jobs) {
    const auto find = [&](const std::vector<std::string>& names, const char* key,
                          std::vector<std::size_t>& into) {
      for (const std::string& name : names)
        if (const auto found = by_name.find(name); found != by_name.end())
          into.push_back(found->second);
        else
          wrong.push_back({fmt::format("its {} names no job: {}", key, printable(name, 60)),
                           printable(job.job.name, 60)});
    };
    find(job.after_names, "after", job.job.after);
    find(job.apart_names, "apart", job.job.apart);
  }
}

}  // namespace

AllErrors<std::vector<PlanJobRequest>> read_plan_jobs(std::string_view text, const std::string& name) {
  const auto refuse = [](std::string what, std::string hint = {}) {
    return std::unexpected(std::vector{Error{std::move(what), "", std::move(hint)}});
  };
  std::string json(text);
  const bool toml = lower_case(name).ends_with(".toml");
  if (toml) {
    auto converted = running::toml_as_json(text);
    if (!converted) return std::unexpected(std::vector{std::move(converted).error()});
    json = *std::move(converted);
  }
  Document document = Document::parse(json, nullptr, false);
  if (document.is_object() && document.contains("job")) document = Document(document["job"]);
  if (!document.is_array() || document.empty())
    return refuse(
        toml ? "has no [[job]]" : "is no list of jobs in JSON",
        toml ? R"(for example [[job]] and below it name = "a", model = "resnet50", batch = 32, steps = 1000)"
             : R"(for example [{"name": "a", "model": "resnet50", "batch": 32, "steps": 1000}])");
  if (document.size() > kMostJobs)
    return refuse(fmt::format("has {} jobs", document.size()), fmt::format("{} are the most", kMostJobs));
  std::vector<PlanJobRequest> out;
  std::vector<Error> wrong;
  for (std::size_t i = 0; i < document.size(); ++i) {
    const std::string number = fmt::format("job {}", i + 1);
    if (!document[i].is_object()) {
      wrong.push_back({"is no object", number});
      continue;
    }
    JobReader reader(document[i]);
    PlanJobRequest job = reader.read();
    if (!reader.wrong().empty())
      wrong.push_back({reader.wrong(), job.job.name.empty() ? number : printable(job.job.name, 60)});
    out.push_back(std::move(job));
  }
  resolve(out, wrong);
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

}  // namespace plimsoll
