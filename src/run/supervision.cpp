#include "run/supervision.hpp"

#include <array>
#include <optional>

#include "run/job_json.hpp"

namespace plimsoll::running {
namespace {

using job::Fields;
using job::Json;

constexpr int kVersion = 1;
constexpr int kMostLevels = 8;

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};
constexpr std::array<Word<Orphans>, 3> kOrphans{
    {{Orphans::wait, "wait"}, {Orphans::end, "end"}, {Orphans::leave, "leave"}}};
constexpr std::array<Word<IfKilled>, 2> kIfKilled{{{IfKilled::end, "end"}, {IfKilled::leave, "leave"}}};
constexpr std::array<Word<Profiler>, 4> kProfilers{
    {{Profiler::none, "none"}, {Profiler::nsys, "nsys"}, {Profiler::ncu, "ncu"}, {Profiler::torch, "torch"}}};
constexpr std::array<Word<Error::Kind>, 6> kKinds{{{Error::Kind::bad_input, "bad_input"},
                                                   {Error::Kind::machine_lacks, "machine_lacks"},
                                                   {Error::Kind::internal, "internal"},
                                                   {Error::Kind::not_found, "not_found"},
                                                   {Error::Kind::exists_already, "exists_already"},
                                                   {Error::Kind::unavailable, "unavailable"}}};

template <const auto& Words, class Enum>
std::string_view word_of(Enum value) {
  for (const auto& word : Words)
    if (word.value == value) return word.text;
  return Words.front().text;
}
template <const auto& Words>
auto value_named(std::string_view text) -> std::optional<decltype(Words.front().value)> {
  for (const auto& word : Words)
    if (word.text == text) return word.value;
  return std::nullopt;
}

Json options_json(const SessionOptions& options) {
  return {{"store", job::text_json(options.store)},
          {"rate", options.rate},
          {"grace_milliseconds", options.watch.grace.count()},
          {"orphans", word_of<kOrphans>(options.watch.orphans)},
          {"if_killed", word_of<kIfKilled>(options.watch.if_killed)},
          {"log_limit_bytes", options.watch.log_limit},
          {"retry_out_of_memory", options.retry_out_of_memory},
          {"wait", options.wait},
          {"show_output", options.show_output},
          {"output_to_error", options.output_to_error},
          {"inherit_input", options.inherit_input},
          {"profiler", word_of<kProfilers>(options.profiler)},
          {"recorded_variables", job::texts_json(options.recorded_variables)}};
}

SessionOptions read_options(const Fields& fields) {
  SessionOptions options;
  options.store = fields.text("store");
  options.rate = fields.not_negative("rate");
  options.watch.grace = std::chrono::milliseconds(fields.whole("grace_milliseconds"));
  options.watch.orphans = fields.choice<Orphans>("orphans", value_named<kOrphans>);
  options.watch.if_killed = fields.choice<IfKilled>("if_killed", value_named<kIfKilled>);
  options.watch.log_limit = fields.natural("log_limit_bytes");
  options.retry_out_of_memory = fields.flag("retry_out_of_memory");
  options.wait = fields.flag("wait");
  options.show_output = fields.flag("show_output");
  options.output_to_error = fields.flag("output_to_error");
  options.inherit_input = fields.flag("inherit_input");
  options.profiler = fields.choice<Profiler>("profiler", value_named<kProfilers>);
  options.recorded_variables = fields.texts("recorded_variables");
  return options;
}

}  // namespace

Json order_json(const Order& order) {
  Json jobs = Json::array();
  for (const JobSpec& job : order.jobs) jobs.push_back(job_json(job));
  Json out{{"type", "order"},
           {"version", kVersion},
           {"jobs", std::move(jobs)},
           {"options", options_json(order.options)},
           {"mlflow_uri", job::text_json(order.mlflow_uri)},
           {"no_mlflow", order.no_mlflow},
           {"quiet", order.quiet}};
  if (order.attempt) out["attempt"] = attempt_json(*order.attempt);
  return out;
}

Result<Order> read_order(const Json& message) {
  std::optional<Error> error;
  const Fields fields(message, "order", error);
  Order order;
  static_cast<void>(fields.whole("version", kVersion, kVersion));
  order.options = read_options(fields.section("options"));
  order.mlflow_uri = fields.text("mlflow_uri");
  order.no_mlflow = fields.flag("no_mlflow");
  order.quiet = fields.flag("quiet");
  for (const Json& item : fields.list("jobs")) {
    Result<JobSpec> job = read_job_spec(item);
    if (!job) return std::unexpected(std::move(job).error().within("order"));
    order.jobs.push_back(*std::move(job));
  }
  if (error) return std::unexpected(*std::move(error));
  if (order.jobs.empty()) return fail("an order without jobs");
  if (fields.has("attempt")) {
    Result<Attempt> attempt = read_attempt(fields.value("attempt"));
    if (!attempt) return std::unexpected(std::move(attempt).error().within("order"));
    order.attempt = *std::move(attempt);
    if (order.jobs.size() != 1 || order.options.retry_out_of_memory)
      return fail("an attempt is of one job, which is not tried again by its supervisor");
  }
  return order;
}

Json ended_json(const Ended& ended) {
  Json out{{"type", "ended"},
           {"job", ended.job},
           {"run", ended.run},
           {"outcome", name(ended.outcome)},
           {"reason", job::text_json(ended.reason)},
           {"exit_code", ended.exit_code},
           {"signal", ended.signal},
           {"seconds", ended.elapsed.value()},
           {"retried", ended.retried},
           {"metrics_lost", ended.metrics_lost}};
  if (ended.unkept) out["unkept"] = error_json(*ended.unkept);
  if (ended.stopped) out["stopped"] = name(*ended.stopped);
  if (ended.gpu_fault) out["gpu_fault"] = true;
  if (ended.peak_gpu_bytes) out["peak_gpu_bytes"] = ended.peak_gpu_bytes->count();
  return out;
}

Result<Ended> read_ended(const Json& message) {
  std::optional<Error> error;
  const Fields fields(message, "ended", error);
  constexpr std::int64_t kLargest = 1 << 20;
  Ended ended;
  ended.job = static_cast<std::size_t>(fields.whole("job"));
  ended.run = fields.text("run");
  ended.outcome = fields.choice<Outcome>("outcome", outcome_named);
  ended.reason = fields.text("reason");
  ended.exit_code = static_cast<int>(fields.whole("exit_code", -kLargest, kLargest));
  ended.signal = static_cast<int>(fields.whole("signal", 0, kLargest));
  ended.elapsed = Seconds(fields.not_negative("seconds"));
  ended.retried = fields.flag("retried");
  ended.metrics_lost = fields.natural("metrics_lost");
  if (fields.has("unkept")) ended.unkept = read_error(fields.value("unkept"));
  if (fields.has("stopped")) ended.stopped = fields.choice<StopCause>("stopped", stop_cause_named);
  ended.gpu_fault = fields.has("gpu_fault") && fields.flag("gpu_fault");
  if (fields.has("peak_gpu_bytes")) ended.peak_gpu_bytes = Bytes(fields.whole("peak_gpu_bytes"));
  if (error) return std::unexpected(*std::move(error));
  return ended;
}

Json progress_json(const Progress& progress) {
  Json out{{"type", "progress"}, {"run", progress.run}};
  if (progress.step) out["step"] = *progress.step;
  if (progress.at) out["at"] = *progress.at;
  if (progress.epoch) out["epoch"] = *progress.epoch;
  if (progress.gpu_bytes) out["gpu_bytes"] = progress.gpu_bytes->count();
  if (progress.sm_activity) out["sm_activity"] = *progress.sm_activity;
  if (progress.gpu_sm_activity) out["gpu_sm_activity"] = *progress.gpu_sm_activity;
  if (progress.gpu_dram_activity) out["gpu_dram_activity"] = *progress.gpu_dram_activity;
  if (progress.gpu_watts) out["gpu_watts"] = *progress.gpu_watts;
  return out;
}

Result<Progress> read_progress(const Json& message) {
  std::optional<Error> error;
  const Fields fields(message, "progress", error);
  Progress out;
  out.run = fields.text("run");
  out.step = fields.whole_if_any("step");
  out.at = fields.not_negative_if_any("at");
  out.epoch = fields.whole_if_any("epoch");
  if (fields.has("gpu_bytes")) out.gpu_bytes = Bytes(fields.whole("gpu_bytes"));
  out.sm_activity = fields.not_negative_if_any("sm_activity");
  out.gpu_sm_activity = fields.not_negative_if_any("gpu_sm_activity");
  out.gpu_dram_activity = fields.not_negative_if_any("gpu_dram_activity");
  out.gpu_watts = fields.not_negative_if_any("gpu_watts");
  if (error) return std::unexpected(*std::move(error));
  return out;
}

Json error_json(const Error& error) {
  return {{"message", job::text_json(error.message)},
          {"where", job::text_json(error.where)},
          {"hint", job::text_json(error.hint)},
          {"kind", word_of<kKinds>(error.kind)}};
}

Error read_error(const Json& message) {
  std::optional<Error> wrong;
  const Fields fields(message, "error", wrong);
  Error error{fields.text("message"), fields.text("where"), fields.text("hint"),
              fields.choice<Error::Kind>("kind", value_named<kKinds>)};
  return wrong ? *std::move(wrong) : error;
}

std::string line_of(const Json& message) {
  return job::dump(message) + "\n";
}

Result<Json> read_message(std::string_view line) {
  Result<Json> message = job::parse_within(line, kLongestMessage, kMostLevels);
  if (message && !message->is_object()) return fail("a message that is no object");
  return message;
}

std::string type_of(const Json& message) {
  const auto found = message.find("type");
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace plimsoll::running
