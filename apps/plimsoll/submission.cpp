#include "submission.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/random_text.hpp"
#include "plan_jobs.hpp"
#include "quantity.hpp"
#include "queue/request.hpp"
#include "queue_client.hpp"
#include "run/job_json.hpp"
#include "run/jobs_file.hpp"
#include "run/toml_document.hpp"
#include "store/timestamp.hpp"
#include "told_errors.hpp"

namespace plimsoll {
namespace {

using Message = job::Json;
using queue::JobRequest;

constexpr std::size_t kMostJobs = 100'000;
constexpr std::size_t kLargestFile = std::size_t{64} << 20;
// Of whoever submits: a run within which it was done, or a socket of it, is not the job's.
constexpr std::array kNotPassedOn{"PLIMSOLL_RUN_ID",       "PLIMSOLL_SOCKET",      "MLFLOW_RUN_ID",
                                  "PLIMSOLL_QUEUE",        "CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY",
                                  "CUDA_MPS_LOG_DIRECTORY"};

Message environment_now() {
  Message out = Message::array();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = text.substr(0, equals);
    if (std::ranges::find(kNotPassedOn, name) != kNotPassedOn.end()) continue;
    out.push_back(Message::array({job::text_json(name), job::text_json(text.substr(equals + 1))}));
  }
  return out;
}

mode_t umask_now() {
  const mode_t mask = ::umask(022);
  ::umask(mask);
  return mask;
}

Result<std::pair<std::string, std::string>> pair_of(const std::string& text, const char* option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return std::unexpected(Error{fmt::format("{} is no NAME=VALUE", quote(text)), option});
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

/// "resnet50 --mode train --batch 64", as `plimsoll estimate` takes it, as a job of a plan.
Result<Message> described(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    const auto split = running::split_words(text);
    if (!split) return std::unexpected(Error(split.error()).within("--estimate"));
    words.insert(words.end(), split->begin(), split->end());
  }
  Message out = Message::object();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      if (out.contains("model"))
        return std::unexpected(Error{fmt::format("{} follows nothing", quote(words[i])), "--estimate"});
      out["model"] = words[i];
      continue;
    }
    std::string key = words[i].substr(2);
    std::ranges::replace(key, '-', '_');
    if (key == "device") {  // the queue's own is meant
      ++i;
      continue;
    }
    if (i + 1 >= words.size() || words[i + 1].starts_with("--")) {
      out[key] = true;
      continue;
    }
    const std::string& value = words[++i];
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size())
      out[key] = number == static_cast<double>(static_cast<std::int64_t>(number))
                     ? Message(static_cast<std::int64_t>(number))
                     : Message(number);
    else
      out[key] = value;
  }
  if (!out.contains("model"))
    return std::unexpected(Error{"it names no model", "--estimate",
                                 "for example: --estimate 'resnet50 --mode train --batch 64'"});
  return out;
}

/// What the options say of one job.
Result<JobRequest> request_of(const SubmitOptions& options) {
  JobRequest out;
  out.job.command = options.command;
  out.job.name = options.name;
  if (!options.experiment.empty()) out.job.experiment = options.experiment;
  out.job.directory = std::filesystem::current_path();
  out.gpus = options.gpus;
  out.alone = options.alone;
  out.keep = options.keep;
  out.rerun = options.rerun;
  out.runs_on = options.runs_on;
  out.most_moves = options.most_moves;
  out.umask = umask_now();
  if (!options.need.empty()) {
    const auto need = running::parse_size(options.need);
    if (!need) return std::unexpected(Error(need.error()).within("--need"));
    out.job.need = *need;
  }
  if (!options.time_limit.empty()) {
    const auto limit = running::parse_duration(options.time_limit);
    if (!limit) return std::unexpected(Error(limit.error()).within("--time-limit"));
    out.job.time_limit = *limit;
  }
  if (!options.save_patience.empty()) {
    const auto patience = running::parse_duration(options.save_patience);
    if (!patience) return std::unexpected(Error(patience.error()).within("--save-patience"));
    out.save_patience = *patience;
  }
  if (!options.save.empty()) {
    out.save = queue::signal_named(options.save);
    if (!out.save)
      return std::unexpected(Error{fmt::format("{} is no signal to save on", quote(options.save)), "--save",
                                   "SIGUSR1 or SIGUSR2"});
  }
  if (!options.deadline.empty()) {
    const double now = static_cast<double>(store::now()) * 1e-6;
    if (const auto at = store::parse_time(options.deadline)) {
      out.deadline = static_cast<double>(*at) * 1e-6;
    } else {
      const auto in = running::parse_duration(options.deadline);
      if (!in)
        return std::unexpected(Error{fmt::format("{} is no time", quote(options.deadline)), "--deadline",
                                     "for example 2h, or 2027-01-31T18:00"});
      out.deadline = now + in->value();
    }
    if (*out.deadline <= now) return std::unexpected(Error{"it has passed already", "--deadline"});
  }
  for (const std::string& text : options.params) {
    auto pair = pair_of(text, "--param");
    PLIMSOLL_TRY(pair);
    out.job.params.push_back(*std::move(pair));
  }
  for (const std::string& text : options.tags) {
    auto pair = pair_of(text, "--tag");
    PLIMSOLL_TRY(pair);
    out.job.tags.push_back(*std::move(pair));
  }
  for (const std::string& path : options.artifacts) out.job.artifacts.emplace_back(path);
  out.job.metric_patterns = options.patterns;
  Message known = Message::object();
  if (!options.estimate.empty()) {
    auto model = described(options.estimate);
    PLIMSOLL_TRY(model);
    known = *std::move(model);
  }
  if (options.steps > 0) known["steps"] = options.steps;
  if (!options.seconds.empty()) {
    const auto seconds = running::parse_duration(options.seconds);
    if (!seconds) return std::unexpected(Error(seconds.error()).within("--seconds"));
    known["seconds"] = seconds->value();
  }
  if (options.rate > 0) known["rate"] = options.rate;
  if (!options.limit.empty()) {
    const auto limit = parse_seconds(options.limit, "--limit");
    PLIMSOLL_TRY(limit);
    known["limit_ms"] = limit->value() * 1e3;
  }
  if (known.contains("steps") && !known.contains("model"))
    known.erase("steps");  // steps of what? it is learned
  if (!known.empty()) out.known = job::dump(known);
  return out;
}

struct Swept {
  std::string name;
  std::vector<std::string> values;
};

Result<std::vector<Swept>> sweeps_of(const std::vector<std::string>& texts) {
  std::vector<Swept> out;
  for (const std::string& text : texts) {
    auto pair = pair_of(text, "--sweep");
    PLIMSOLL_TRY(pair);
    Swept swept{.name = pair->first, .values = {}};
    std::string_view rest = pair->second;
    while (true) {
      const std::size_t comma = rest.find(',');
      swept.values.emplace_back(rest.substr(0, comma));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    out.push_back(std::move(swept));
  }
  return out;
}

/// "{lr}" in the words becomes its value; where no word has it, "--lr VALUE" follows.
void put_in(std::vector<std::string>& command, const std::string& name, const std::string& value,
            bool append) {
  const std::string mark = "{" + name + "}";
  bool found = false;
  for (std::string& word : command)
    for (std::size_t at = word.find(mark); at != std::string::npos; at = word.find(mark, at + value.size())) {
      word.replace(at, mark.size(), value);
      found = true;
    }
  if (found || !append) return;
  command.push_back("--" + name);
  command.push_back(value);
}

Result<std::vector<JobRequest>> multiplied(const JobRequest& one, const SubmitOptions& options) {
  const auto sweeps = sweeps_of(options.sweeps);
  PLIMSOLL_TRY(sweeps);
  std::vector<JobRequest> out{one};
  for (const Swept& swept : *sweeps) {
    std::vector<JobRequest> more;
    if (out.size() * swept.values.size() > kMostJobs)
      return std::unexpected(Error{"too many jobs at once", "--sweep"});
    for (const JobRequest& request : out)
      for (const std::string& value : swept.values) {
        JobRequest next = request;
        put_in(next.job.command, swept.name, value, true);
        next.job.params.emplace_back(swept.name, value);
        next.job.name += fmt::format("{}{}={}", next.job.name.empty() ? "" : " ", swept.name, value);
        more.push_back(std::move(next));
      }
    out = std::move(more);
  }
  if (options.array <= 0) return out;
  std::vector<JobRequest> more;
  if (out.size() * static_cast<std::size_t>(options.array) > kMostJobs)
    return std::unexpected(Error{"too many jobs at once", "--array"});
  for (const JobRequest& request : out)
    for (std::int64_t index = 0; index < options.array; ++index) {
      JobRequest next = request;
      const std::string text = fmt::format("{}", index);
      put_in(next.job.command, "index", text, false);
      next.job.environment.emplace_back("PLIMSOLL_ARRAY_INDEX", text);
      if (options.slurm.wanted) {  // as scripts for arrays of Slurm's read it
        next.job.environment.emplace_back("SLURM_ARRAY_TASK_ID", text);
        next.job.environment.emplace_back("SLURM_ARRAY_TASK_MIN", "0");
        next.job.environment.emplace_back("SLURM_ARRAY_TASK_MAX", fmt::format("{}", options.array - 1));
        next.job.environment.emplace_back("SLURM_ARRAY_TASK_COUNT", fmt::format("{}", options.array));
        next.job.environment.emplace_back("SLURM_ARRAY_TASK_STEP", "1");
      }
      next.job.params.emplace_back("index", text);
      next.job.name += fmt::format("{}{}", next.job.name.empty() ? "" : "-", text);
      more.push_back(std::move(next));
    }
  return more;
}

/// What a file says of a job to the queue alone.
constexpr std::array kQueueKeys{"alone", "keep", "rerun"};

/// The document of a file, with what `plimsoll plan` would miss and the queue learns: how long jobs take.
Result<Message> document_of(const std::string& file) {
  const auto text = read_file(file, kLargestFile);
  PLIMSOLL_TRY(text);
  std::string json = *text;
  const bool toml = file.ends_with(".toml");
  if (toml) {
    auto converted = running::toml_as_json(*text);
    if (!converted) return std::unexpected(Error(converted.error()).within(file));
    json = *std::move(converted);
  }
  Message document = Message::parse(json, nullptr, false);
  if (document.is_object() && document.contains("job")) document = Message(document["job"]);
  if (toml && !document.is_array())
    return std::unexpected(
        Error{"has no [[job]]", file,
              R"(for example [[job]] and below it name = "a", command = ["python", "a.py"])"});
  return document;
}

/// As `plimsoll plan` may read it.
Message for_plan(Message document) {
  if (!document.is_array()) return document;
  for (Message& job : document) {
    if (!job.is_object()) continue;
    for (const char* key : kQueueKeys) job.erase(key);
    if (!job.contains("steps") && !job.contains("seconds") && !job.contains("epochs") &&
        !job.contains("rate"))
      job["seconds"] = 0;
  }
  return document;
}

/// One job of a file. What the options say holds for all of them.
Result<JobRequest> request_in(const SubmitOptions& options, const PlanJobRequest& planned,
                              const Message& told) {
  auto request = request_of(options);
  PLIMSOLL_TRY(request);
  const auto wrong = [&](std::string what) {
    return std::unexpected(Error{std::move(what), options.file + ": " + printable(planned.job.name)});
  };
  if (planned.command.empty()) return wrong("has no command, and cannot be run");
  if (!planned.job.apart.empty()) return wrong("is apart from others, which only a plan can promise");
  request->job.command = planned.command;
  request->job.name = planned.job.name;
  if (planned.need) request->job.need = *planned.need;
  request->gpus = planned.job.gpus;
  if (planned.job.deadline)
    request->deadline = static_cast<double>(store::now()) * 1e-6 + *planned.job.deadline;
  if (const auto save = told.find("save"); save != told.end()) {
    request->save = queue::signal_named(job::text_of(*save).value_or(""));
    if (!request->save) return wrong("saves on no signal: SIGUSR1 or SIGUSR2");
  }
  std::optional<Error> error;
  const job::Fields fields(told, "", error);
  if (fields.has("alone")) request->alone = fields.flag("alone");
  if (fields.has("rerun")) request->rerun = fields.flag("rerun");
  if (fields.has("keep")) request->keep = fields.not_negative("keep");
  if (error) return wrong(error->text());
  Message known = told;
  for (const char* key : {"name", "command", "after", "apart", "arrival", "arrival_s", "priority", "deadline",
                          "gpus", "user", "save", "need", "interruptible", "kind"})
    known.erase(key);
  for (const char* key : kQueueKeys) known.erase(key);
  if (planned.serves()) known["kind"] = "service";
  request->known = known.empty() ? std::string() : job::dump(known);
  return request;
}

/// The jobs of a file, as `plimsoll plan` takes it.
Result<Message> jobs_in(const SubmitOptions& options) {
  const auto document = document_of(options.file);
  PLIMSOLL_TRY(document);
  const auto requests =
      read_plan_jobs(for_plan(*document).dump(-1, ' ', false, Message::error_handler_t::replace), "");
  if (!requests) return std::unexpected(all_told(requests.error(), options.file, "submitted"));
  Message out = Message::array();
  for (std::size_t i = 0; i < requests->size(); ++i) {
    const PlanJobRequest& planned = (*requests)[i];
    const auto request = request_in(options, planned, (*document)[i]);
    PLIMSOLL_TRY(request);
    Message one{{"request", queue::request_json(*request)},
                {"priority", planned.job.priority + options.priority}};
    Message after = Message::array();
    for (const std::size_t before : planned.job.after)
      after.push_back(-static_cast<std::int64_t>(before) - 1);
    if (!after.empty()) one["after"] = after;
    if (options.hold) one["held"] = true;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<Message> submission(const SubmitOptions& options, bool dry) {
  Message out{{"type", dry ? "dry" : "submit"}, {"environment", environment_now()}};
  const auto token = random_hex(16);
  PLIMSOLL_TRY(token);
  out["token"] = *token;
  const auto after = job_numbers(options.after);
  if (!after) return std::unexpected(Error(after.error()).within("--after"));
  if (!options.file.empty()) {
    if (options.array > 0 || !options.sweeps.empty())
      return std::unexpected(
          Error{"multiplies a command; a file tells its jobs one by one", "--array, --sweep"});
    auto jobs = jobs_in(options);
    PLIMSOLL_TRY(jobs);
    out["jobs"] = *std::move(jobs);
  } else {
    if (options.command.empty())
      return std::unexpected(Error{"there is nothing to submit",
                                   {},
                                   "plimsoll submit -- python train.py, or plimsoll submit JOBS.toml"});
    const auto one = request_of(options);
    PLIMSOLL_TRY(one);
    const auto all = multiplied(*one, options);
    PLIMSOLL_TRY(all);
    out["jobs"] = Message::array();
    for (const JobRequest& request : *all) {
      Message item{{"request", queue::request_json(request)}, {"priority", options.priority}};
      if (options.hold) item["held"] = true;
      out["jobs"].push_back(std::move(item));
    }
  }
  if (!after->empty())
    for (Message& item : out["jobs"])
      for (const std::int64_t number : *after) item["after"].push_back(number);
  return out;
}

}  // namespace plimsoll
