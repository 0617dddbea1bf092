#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "forward/server_address.hpp"
#include "json_output.hpp"
#include "learn/run_target.hpp"
#include "run/jobs_file.hpp"
#include "run/metric_line.hpp"
#include "run/runtime_directory.hpp"
#include "run/secrets.hpp"
#include "run/session.hpp"
#include "run/supervision.hpp"
#include "run/supervisor_client.hpp"
#include "run/turns.hpp"
#include "run_ends.hpp"
#include "store/store.hpp"
#include "supervised_runs.hpp"
#include "telemetry/sampler.hpp"

namespace plimsoll {
namespace {

using running::Ended;
using running::JobRow;
using running::JobSpec;
using running::Outcome;

struct RunOptions {
  std::vector<std::string> devices;
  std::string mode;
  std::string experiment;
  std::string workload;
  std::string name;
  double mps_percentage = 0;
  std::string mps_memory;
  std::string need;
  std::string estimate;
  std::string time_limit;
  std::int64_t epoch_limit = 0;
  std::string grace = "10s";
  std::string orphans = "wait";
  std::vector<std::string> patterns;
  std::vector<std::string> params;
  std::vector<std::string> tags;
  std::vector<std::string> variables;
  std::vector<std::string> artifacts;
  std::string rerun;
  std::string log_limit = "64MiB";
  std::string profiler = "none";
  std::string mlflow_uri;
  running::SessionOptions session;
  std::string target;
  std::string if_killed = "end";
  bool no_wait = false;
  bool detach = false;
  bool quiet = false;
  bool show_output = false;
  bool no_mlflow = false;
  bool json = false;
};

/// "NAME=VALUE" as a pair.
Result<std::pair<std::string, std::string>> pair_of(const std::string& text, std::string_view option) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return fail("{} needs NAME=VALUE, but '{}' was given", option, printable(text));
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

template <class T, class Parsed>
Status set(std::optional<T>& target, const std::string& text, Result<Parsed> (*parse)(std::string_view),
           std::string_view option) {
  if (text.empty()) return {};
  Result<Parsed> parsed = parse(text);
  if (!parsed) return std::unexpected(std::move(parsed).error().within(option));
  target = *std::move(parsed);
  return {};
}

/// What the options say for one job; in a jobs file they stand where a row says nothing.
Status apply(const RunOptions& options, JobSpec& job) {
  if (!options.experiment.empty() && job.experiment == JobSpec().experiment)
    job.experiment = options.experiment;
  if (!options.workload.empty() && job.workload.empty()) job.workload = options.workload;
  if (!options.name.empty() && job.name.empty()) job.name = options.name;
  if (job.devices.empty()) job.devices = options.devices;
  if (!options.mode.empty()) {
    const auto sharing = running::parse_sharing(options.mode);
    if (!sharing) return std::unexpected(Error(sharing.error()).within("--mode"));
    job.sharing = *sharing;
  }
  if (options.mps_percentage > 0 && !job.mps_percentage) job.mps_percentage = options.mps_percentage;
  if (!job.mps_memory)
    PLIMSOLL_TRY(set(job.mps_memory, options.mps_memory, running::parse_size, "--mps-memory"));
  if (!job.need) PLIMSOLL_TRY(set(job.need, options.need, running::parse_size, "--need"));
  if (!job.time_limit)
    PLIMSOLL_TRY(set(job.time_limit, options.time_limit, running::parse_duration, "--time-limit"));
  if (options.epoch_limit > 0 && !job.epoch_limit) job.epoch_limit = options.epoch_limit;
  if (!options.estimate.empty() && job.estimate.empty()) {
    auto words = running::split_words(options.estimate);
    if (!words) return std::unexpected(std::move(words).error().within("--estimate"));
    job.estimate = *std::move(words);
  }
  for (const std::string& pattern : options.patterns) {
    // Looked at now, so that a bad one is told before anything starts.
    if (auto made = running::MetricPattern::make(pattern); !made)
      return std::unexpected(std::move(made).error().within("--metric-pattern"));
    job.metric_patterns.push_back(pattern);
  }
  for (const std::string& text : options.params) {
    auto pair = pair_of(text, "--param");
    if (!pair) return std::unexpected(std::move(pair).error());
    job.params.push_back(*std::move(pair));
  }
  for (const std::string& text : options.tags) {
    auto pair = pair_of(text, "--tag");
    if (!pair) return std::unexpected(std::move(pair).error());
    job.tags.push_back(*std::move(pair));
  }
  if (!options.target.empty()) {
    if (auto target = learn::parse_target(options.target); !target)
      return std::unexpected(std::move(target).error().within("--target"));
    job.tags.emplace_back(learn::kTargetTag, options.target);
  }
  for (const std::string& path : options.artifacts) job.artifacts.emplace_back(path);
  if (job.sharing != running::Sharing::mps && (job.mps_percentage || job.mps_memory)) {
    Error error{"an MPS limit is given, but the mode is not mps"};
    error.hint = "Add --mode mps.";
    return std::unexpected(std::move(error));
  }
  return {};
}

Result<running::SessionOptions> session_options(const RunOptions& options) {
  running::SessionOptions session = options.session;
  session.recorded_variables = options.variables;
  session.wait = !options.no_wait;
  const auto grace = running::parse_duration(options.grace);
  if (!grace) return std::unexpected(Error(grace.error()).within("--grace"));
  session.watch.grace = std::chrono::milliseconds(static_cast<std::int64_t>(grace->value() * 1000));
  const auto limit = running::parse_size(options.log_limit);
  if (!limit) return std::unexpected(Error(limit.error()).within("--log-limit"));
  session.watch.log_limit = static_cast<std::uint64_t>(limit->count());
  const auto profiler = running::parse_profiler(options.profiler);
  if (!profiler) return std::unexpected(Error(profiler.error()).within("--with"));
  session.profiler = *profiler;
  session.watch.orphans = options.orphans == "end"     ? running::Orphans::end
                          : options.orphans == "leave" ? running::Orphans::leave
                                                       : running::Orphans::wait;
  session.watch.if_killed = options.if_killed == "leave" ? running::IfKilled::leave : running::IfKilled::end;
  return session;
}

nlohmann::ordered_json to_json(const Ended& ended, const JobSpec& job) {
  nlohmann::ordered_json out = end_json(ended);
  out["name"] = job.name;
  out["experiment"] = job.experiment;
  out["workload"] = job.workload;
  return out;
}

nlohmann::ordered_json to_json(const running::SessionResult& result, const std::vector<JobSpec>& jobs) {
  nlohmann::ordered_json out;
  out["interrupted"] = result.interrupted;
  out["sampling"] = {{"frames", result.frames}, {"cpu_seconds", result.sampler_cpu_seconds}};
  out["runs"] = nlohmann::ordered_json::array();
  for (const Ended& ended : result.ended) out["runs"].push_back(to_json(ended, jobs[ended.job]));
  return out;
}

/// Whether its end must be told even where little is said.
bool needs_telling(const Ended& ended) {
  return ended.unkept || ended.metrics_lost > 0;
}

running::Order order_of(const RunOptions& options, std::vector<JobSpec> jobs,
                        running::SessionOptions session) {
  return {.jobs = std::move(jobs),
          .options = std::move(session),
          .mlflow_uri = options.mlflow_uri,
          .no_mlflow = options.no_mlflow,
          .quiet = options.quiet};
}

/// So that an address that cannot be one is told before anything starts.
Status check_address(const RunOptions& options) {
  if (options.mlflow_uri.empty()) return {};
  auto parsed = forward::parse_address(options.mlflow_uri, forward::credentials_of_environment());
  if (!parsed) return std::unexpected(std::move(parsed).error().within("--mlflow-uri"));
  return {};
}

/// Comes back once the command has started, or will not.
Result<int> run_detached(const RunOptions& options, const JobSpec& job, running::SessionOptions session) {
  Result<running::SupervisorClient> client =
      running::SupervisorClient::launch(order_of(options, {job}, std::move(session)));
  if (!client) return std::unexpected(std::move(client).error());
  while (client->is_open()) {
    for (const job::Json& message : client->wait_and_receive()) {
      const std::string type = running::type_of(message);
      const auto text = [&](const char* key) {
        const auto found = message.find(key);
        return found == message.end() ? std::string() : job::text_of(*found).value_or("");
      };
      if (type == "warn" || (type == "say" && !options.quiet)) tell(printable(text("text")));
      if (type == "failed" && message.contains("error"))
        return std::unexpected(running::read_error(message["error"]));
      if (type == "ended") {
        const Result<Ended> ended = running::read_ended(message);
        if (!ended) continue;
        tell_end(*ended, job.command.front());
        if (options.json) print_json(end_json(*ended));
        return exit_code_of(*ended);
      }
      if (type != "started") continue;
      const std::string run = text("run");
      if (options.json)
        print_json(nlohmann::ordered_json{{"run", run}});
      else
        fmt::print("{}\n", run);
      if (!options.quiet)
        tell(fmt::format("it goes on by itself: plimsoll attach {}, plimsoll stop {}", run.substr(0, 8),
                         run.substr(0, 8)));
      return 0;
    }
  }
  return std::unexpected(Error{"the supervisor of the command was killed", {}, {}, Error::Kind::unavailable});
}

Result<int> run_command(const RunOptions& options, const std::vector<std::string>& words) {
  JobSpec job;
  job.command = words;
  PLIMSOLL_TRY(apply(options, job));
  auto session = session_options(options);
  if (!session) return std::unexpected(std::move(session).error());
  PLIMSOLL_TRY(running::check_profiler(session->profiler, job.command));
  PLIMSOLL_TRY(check_address(options));
  if (options.detach) return run_detached(options, job, *std::move(session));
  session->show_output = true;
  session->output_to_error = options.json;
  // A terminal belongs to one group of processes; a command in a group of its own would be stopped when it
  // reads.
  session->inherit_input = ::isatty(STDIN_FILENO) == 0;
  running::Listener listener;
  const std::vector<JobSpec> jobs{job};
  if (!options.quiet) listener.say = tell;
  listener.warn = [](const std::string& line) { tell(printable(line)); };
  listener.ended = [&](const Ended& ended) {
    if (!options.quiet || needs_telling(ended) || ended.run.empty() || ended.exit_code == 127)
      tell_end(ended, words.front());
  };
  const auto result = running::run_session(order_of(options, jobs, *session), listener);
  if (!result) return std::unexpected(result.error());
  if (options.json) print_json(to_json(*result, jobs));
  return result->ended.empty() ? 130 : exit_code_of(result->ended.front());
}

/// What a row's status will be: limits are ends that were asked for.
std::string_view file_status(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished:
    case Outcome::time_limit:
    case Outcome::epoch_limit: return "FINISHED";
    case Outcome::interrupted:
    case Outcome::lost: return "KILLED";
    default: return "FAILED";
  }
}

bool is_due(const JobRow& job, const std::string& rerun) {
  if (rerun == "all") return true;
  if (job.status == "FINISHED") return false;
  return job.status != "FAILED" || rerun == "failed";
}

/// It has ended, and not as it should: by itself, or killed.
bool has_failed(const JobRow& job) {
  return job.status == "FAILED" || job.status == "KILLED";
}

std::string title_of(const JobSpec& job) {
  constexpr std::size_t kLongest = 60;
  const std::string name =
      job.name.empty()
          ? printable(fmt::format("{}", fmt::join(running::masked_command(job.command), " ")), kLongest)
          : job.name;
  return job.workload.empty() ? name : fmt::format("{} / {}", job.workload, name);
}

/// What of a jobs file is run now, and what is not, and why.
std::string plan_of(const running::JobsFile& file, std::size_t due, const std::string& rerun) {
  std::string line = fmt::format("{} of {} jobs to run", due, file.jobs.size());
  const auto left_out = [&](const JobRow& job) { return !is_due(job, rerun); };
  const auto done = std::ranges::count_if(
      file.jobs, [&](const JobRow& job) { return left_out(job) && job.status == "FINISHED"; });
  const auto failed =
      std::ranges::count_if(file.jobs, [&](const JobRow& job) { return left_out(job) && has_failed(job); });
  if (done > 0) line += fmt::format("; {} done before", done);
  if (failed > 0) line += fmt::format("; {} failed before and not run again", failed);
  return line;
}

/// Says which jobs of a file have failed, whenever that was, and how to run them again.
void tell_left(const running::JobsFile& file) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> names;
  std::size_t failed = 0;
  for (const JobRow& job : file.jobs) {
    if (!has_failed(job)) continue;
    if (++failed > kMostNamed) continue;
    names.push_back(printable(title_of(job.spec)));
    if (!job.run.empty()) names.back() += fmt::format(" (run {})", printable(job.run.substr(0, 8)));
  }
  if (failed == 0) return;
  tell(fmt::format("{} of {} jobs failed: {}{}", failed, file.jobs.size(), fmt::join(names, ", "),
                   failed > kMostNamed ? fmt::format(" and {} more", failed - kMostNamed) : ""));
  tell(fmt::format("to run them again: plimsoll run {} --rerun failed", printable(file.path.string())));
}

/// Prints all that is wrong and leaves main nothing to say but how much.
Error all_of(const std::vector<Error>& errors, const std::string& path) {
  for (const Error& error : errors) {
    tell(printable(error.text()));
    if (!error.hint.empty()) tell("  " + printable(error.hint));
  }
  return Error{fmt::format("{} {} cannot be used; nothing was started", errors.size(),
                           errors.size() == 1 ? "entry" : "entries"),
               path};
}

/// Runs that go on, with their supervisors' sockets.
std::map<std::string, std::filesystem::path> runs_going_on() {
  std::map<std::string, std::filesystem::path> out;
  if (const Result<std::vector<SupervisedRun>> runs = supervised_runs())
    for (const SupervisedRun& run : *runs)
      if (!run.socket.empty()) out.emplace(run.id, run.socket);
  return out;
}

/// Jobs that wait for their turn, by their marks, with their supervisors' sockets.
std::map<std::string, std::filesystem::path> jobs_that_wait() {
  std::map<std::string, std::filesystem::path> out;
  if (const auto base = running::RuntimeDirectory::base())
    for (const running::FoundSupervisor& supervisor : running::find_supervisors(*base))
      for (const std::string& mark : supervisor.waiting) out.emplace(mark, supervisor.socket);
  return out;
}

/// What became of jobs that the file says are running and that run no more: whoever started them did not see
/// their end.
void settle_rows(running::JobsFile& file, const std::map<std::string, std::filesystem::path>& going_on,
                 const std::string& where) {
  std::unique_ptr<store::Store> store;
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    JobRow& row = file.jobs[i];
    if (row.status != "RUNNING" || row.run.empty() || going_on.contains(row.run)) continue;
    if (!store) {
      auto opened = store::open(where, {.create = false});
      if (!opened) return;
      store = *std::move(opened);
    }
    const Result<store::Run> run = store->find(row.run);
    if (!run || run->status == store::RunStatus::running) continue;
    const auto tag = run->tags.find("plimsoll.outcome");
    const auto outcome = tag == run->tags.end() ? std::nullopt : running::outcome_named(tag->second);
    if (!outcome) continue;
    row.status = file_status(*outcome);
    if (Status written = running::write_status(file, i); !written) tell(printable(written.error().text()));
  }
}

Result<int> run_file(const RunOptions& options, const std::string& path) {
  if (options.detach) {
    Error error{"--detach is for one command", path};
    error.hint =
        "Of a jobs file every workload has a supervisor of its own, which outlives this program; a second "
        "start goes on with them.";
    return std::unexpected(std::move(error));
  }
  PLIMSOLL_TRY(check_address(options));
  auto file = running::read_jobs(path);
  if (!file) return std::unexpected(all_of(file.error(), path));
  const std::map<std::string, std::filesystem::path> going_on = runs_going_on();
  settle_rows(*file, going_on, options.session.store);
  const std::map<std::string, std::filesystem::path> waiting = jobs_that_wait();
  std::vector<JobSpec> due;
  std::vector<std::size_t> places;
  running::Adopted adopted;
  for (JobRow& job : file->jobs) PLIMSOLL_TRY(apply(options, job.spec));
  // Options may bring jobs into one workload that were not.
  if (const std::vector<Error> errors = running::turn_mistakes(file->jobs); !errors.empty())
    return std::unexpected(all_of(errors, path));
  for (std::size_t i = 0; i < file->jobs.size(); ++i) {
    if (!is_due(file->jobs[i], options.rerun)) continue;
    due.push_back(file->jobs[i].spec);
    places.push_back(i);
    if (const auto found = going_on.find(file->jobs[i].run);
        found != going_on.end() && file->jobs[i].status == "RUNNING")
      adopted.emplace(due.size() - 1, found->second);
    if (waiting.empty() || !running::waits_for_turn(due.back())) continue;
    if (const auto found = waiting.find(running::turn_mark(due.back(), options.session.store));
        found != waiting.end())
      adopted.emplace(due.size() - 1, found->second);
  }
  if (!options.quiet) tell(plan_of(*file, due.size(), options.rerun));
  auto session = session_options(options);
  if (!session) return std::unexpected(std::move(session).error());
  for (const JobSpec& job : due) PLIMSOLL_TRY(running::check_profiler(session->profiler, job.command));
  session->show_output = options.show_output;
  session->output_to_error = options.json;
  const auto title = [&](std::size_t job) { return title_of(due[job]); };
  const auto write_back = [&](std::size_t job, std::string_view status, const std::string& run) {
    JobRow& of = file->jobs[places[job]];
    of.status = status;
    if (!run.empty()) of.run = run;
    if (Status written = running::write_status(*file, places[job]); !written)
      tell(printable(written.error().text()));
  };
  running::Listener listener;
  if (!options.quiet) listener.say = tell;
  listener.warn = [](const std::string& line) { tell(printable(line)); };
  listener.started = [&](std::size_t job, const std::string& run) {
    if (!options.quiet) tell(fmt::format("{} started (run {})", printable(title(job)), run.substr(0, 8)));
    write_back(job, "RUNNING", run);
  };
  listener.ended = [&](const Ended& ended) {
    if (!options.quiet || needs_telling(ended)) tell_end(ended, title(ended.job));
    write_back(ended.job, file_status(ended.outcome), ended.run);
  };
  const auto result = running::run_session(order_of(options, due, *session), listener, adopted);
  if (!result) return std::unexpected(result.error());
  if (options.json) {
    nlohmann::ordered_json out = to_json(*result, due);
    out["failed_jobs"] = nlohmann::ordered_json::array();
    for (const JobRow& job : file->jobs)
      if (has_failed(job))
        out["failed_jobs"].push_back(
            {{"name", job.spec.name}, {"workload", job.spec.workload}, {"run", job.run}});
    print_json(out);
  }
  tell_left(*file);
  const bool any_failed = std::ranges::any_of(file->jobs, has_failed);
  return result->interrupted ? 130 : any_failed ? 1 : 0;
}

bool is_jobs_file(std::string_view word) {
  return word.ends_with(".csv") || word.ends_with(".toml");
}

void add_options(CommandLine& command, RunOptions& options);

/// Options may stand behind a jobs file too, where they can be no command's.
Status take_options(RunOptions& options, const std::vector<std::string>& words) {
  CommandLine app({}, "plimsoll run");
  add_options(app, options);
  return app.parse(words);
}

Result<int> run(RunOptions& options, const std::optional<std::vector<std::string>>& separated,
                const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader of our messages who leaves is no reason to end a command
  if (separated && !words.empty())
    return fail("'{}' before -- is neither an option nor the command", printable(words.front()));
  const std::vector<std::string>& command = separated ? *separated : words;
  if (command.empty()) {
    Error error{"there is nothing to run"};
    error.hint = "Write `plimsoll run -- python train.py`, or `plimsoll run jobs.csv`.";
    return std::unexpected(std::move(error));
  }
  if (separated || !is_jobs_file(command.front())) return run_command(options, command);
  PLIMSOLL_TRY(take_options(options, {command.begin() + 1, command.end()}));
  return run_file(options, command.front());
}

void add_options(CommandLine& command, RunOptions& o) {
  command.add_option("-d,--device", o.devices, "GPU (0) or MIG slice (0:1), or its UUID; several: 0,1")
      ->delimiter(',')
      ->option_text("GPU,…");
  command.add_option("--mode", o.mode, "How jobs of one workload share a GPU: naive (default) or mps")
      ->offers({"naive", "mps"})
      ->option_text("MODE");
  command.add_option("-e,--experiment", o.experiment, "Experiment to record under")->option_text("NAME");
  command.add_option("-w,--workload", o.workload, "Workload to record under")->option_text("NAME");
  command.add_option("-n,--name", o.name, "Name of the run")->option_text("NAME");
  command.add_option("-t,--time-limit", o.time_limit, "End the command after this time: 90s, 10m, 1.5h")
      ->option_text("TIME");
  command
      .add_option("-i,--epoch-limit", o.epoch_limit, "End the command after this epoch, as its output tells")
      ->positive()
      ->option_text("N");
  command
      .add_option("--grace", o.grace, "Time between asking the command to end and ending it (default: 10s)")
      ->option_text("TIME");
  command
      .add_option(
          "--orphans", o.orphans,
          "What to do with processes that outlive the command: wait for them (default), end or leave them")
      ->one_of({"wait", "end", "leave"})
      ->option_text("WHAT");
  command.add_flag("--detach", o.detach,
                   "Start the command, say which run it is, and come back; see plimsoll attach");
  command
      .add_option("--if-killed", o.if_killed,
                  "What becomes of the command when the Plimsoll that watches it is killed: end (default), "
                  "or leave it "
                  "running, unwatched")
      ->one_of({"end", "leave"})
      ->option_text("WHAT");
  command
      .add_option("--need", o.need,
                  "GPU memory that the command needs: 6GiB (default: by --estimate, else as its last run)")
      ->option_text("SIZE");
  command
      .add_option("--estimate", o.estimate, "Arguments of `plimsoll estimate` that tell how much it needs")
      ->option_text("ARGUMENTS");
  command.add_flag("--no-wait", o.no_wait, "Refuse a job that does not fit now, instead of waiting");
  command.add_flag("--retry-oom", o.session.retry_out_of_memory,
                   "Run what runs out of GPU memory once more, alone");
  command.add_option("--mps-percentage", o.mps_percentage, "SMs that it may use under MPS, in percent")
      ->in_range(0.1, 100.0)
      ->option_text("PERCENT");
  command.add_option("--mps-memory", o.mps_memory, "GPU memory that it may take under MPS")
      ->option_text("SIZE");
  command.add_option("--rate", o.session.rate, "Samples of the hardware a second, 0.1 to 100 (default: 10)")
      ->in_range(telemetry::kLowestRate, telemetry::kHighestRate)
      ->option_text("HZ");
  command
      .add_option("--metric-pattern", o.patterns,
                  "Find a metric in the output: NAME=REGEX with a group; may be given again")
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  command.add_option("--param", o.params, "Parameter to record; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE");
  command.add_option("--tag", o.tags, "Tag to record; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE");
  command
      .add_option("--target", o.target,
                  "What the run is for, accuracy>=0.92; plimsoll top and report say when that is expected")
      ->option_text("METRIC=VALUE");
  command
      .add_option("--env", o.variables,
                  "Environment variable to record, too (secrets are masked); may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME");
  command
      .add_option("--artifact", o.artifacts, "File to keep when the command has ended; may be given again")
      ->allow_extra_args(false)
      ->option_text("FILE");
  command
      .add_option("--log-limit", o.log_limit,
                  "Keep only the beginning and the end of output longer than this (default: 64MiB)")
      ->option_text("SIZE");
  command.add_option("--with", o.profiler, "Run it in a profiler and keep its report: nsys, ncu or torch")
      ->offers({"nsys", "ncu", "torch"})
      ->option_text("PROFILER");
  command.add_option("--rerun", o.rerun, "Run failed or all jobs of a jobs file again")
      ->one_of({"failed", "all"})
      ->option_text("WHICH");
  command.add_flag("--show-output", o.show_output, "Show the output of the commands of a jobs file");
  command.add_flag("--no-mlflow", o.no_mlflow, "Do not record what the command logs to MLflow");
  command
      .add_option("--mlflow-uri", o.mlflow_uri, "Send the run to this MLflow server, too, while it goes on")
      ->option_text("URI");
  command
      .add_option("--store", o.session.store,
                  "The store to record in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command.add_flag("-q,--quiet", o.quiet, "Print nothing but the command's own output, and errors");
  command.add_flag("--json", o.json,
                   "Print one JSON document at the end; the command's output goes to standard error");
}

}  // namespace

void add_run(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CommandLine* command =
      app.add_subcommand("run", "Run a command, or many together on a GPU, watched and recorded");
  add_options(*command, *options);
  command->prefix_command()->fallthrough(false);  // what follows belongs to the command
  command->usage("[OPTIONS] -- COMMAND…")->usage("JOBS.toml|JOBS.csv [OPTIONS]");
  command->footer(
      "Examples:\n"
      "  plimsoll run -- python train.py --lr 0.1\n"
      "  plimsoll run --time-limit 10m --device 0 --need 6GiB -- python train.py\n"
      "  plimsoll run --mlflow-uri http://host:5000 -- python train.py\n"
      "  plimsoll run --detach -- python train.py\n"
      "  plimsoll run jobs.csv                    many, as the file says\n"
      "  plimsoll run jobs.toml --rerun failed    those that failed, again\n"
      "The command's lines `plimsoll: metric loss 0.12 step 40` become metrics; so does what it writes to "
      "the\n"
      "socket $PLIMSOLL_SOCKET, and what it logs to MLflow ($MLFLOW_TRACKING_URI and $MLFLOW_RUN_ID are "
      "set,\n"
      "unless you set your own). The exit code is the command's own (124: time limit, 128+N: signal N); of "
      "a\n"
      "jobs file 0 where all went well, else 1.");
  command->callback([options, command, &invocation] {
    invocation.run = [options, command, &invocation] {
      return run(*options, invocation.command, command->remaining());
    };
  });
}

}  // namespace plimsoll
