#include "run/watch.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>

#include "base/files.hpp"
#include "run/runtime_directory.hpp"
#include "run/secrets.hpp"
#include "store/timestamp.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::running {
namespace {

using std::chrono::milliseconds;
constexpr std::size_t kTail = std::size_t{64} << 10;
constexpr const char* kLogName = "output.log";
constexpr milliseconds kFollowing{100};        // between two looks into a file that grows
constexpr std::size_t kMostStatements = 1000;  // params and artifacts of one run
const store::Description kFromOutput{{}, "the command's output"};
const store::Description kFromSocket{{}, "the command, by its socket"};

bool ends_programs(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

std::int64_t kernel_memory_kills(const std::filesystem::path& proc, const std::filesystem::path& sys) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  const std::string groups = read_file(proc / "self/cgroup", kLargest).value_or("");
  if (const auto at = groups.find("0::/"); at != std::string::npos) {
    const std::string path = groups.substr(at + 4, groups.find('\n', at) - at - 4);
    if (!path.contains("..")) {
      const auto events = read_file(sys / "fs/cgroup" / path / "memory.events", kLargest);
      if (events)
        if (const auto kills = telemetry::number_after(*events, "oom_kill "))
          return static_cast<std::int64_t>(*kills);
    }
  }
  const auto machine = read_file(proc / "vmstat", kLargest);
  return machine ? static_cast<std::int64_t>(telemetry::number_after(*machine, "oom_kill ").value_or(0)) : 0;
}

Result<std::unique_ptr<Watch>> Watch::start(const JobSpec& job, const WatchOptions& options, Place place,
                                            Recorder& recorder, Errands& errands) {
  std::vector<MetricPattern> patterns;
  for (const std::string& text : job.metric_patterns) {
    Result<MetricPattern> pattern = MetricPattern::make(text);
    if (!pattern) return std::unexpected(std::move(pattern).error());
    patterns.push_back(*std::move(pattern));
  }
  // The socket calls into the watch, which does not exist yet.
  auto self = std::make_shared<Watch*>(nullptr);
  auto socket = MetricSocket::listen(place.socket, [self](const Statement& statement) {
    return (*self)->take_statement(statement, kFromSocket);
  });
  if (!socket) return std::unexpected(std::move(socket).error());

  ChildOptions child;
  child.command = job.command;
  child.directory = job.directory.string();
  child.inherit_input = place.inherit_input;
  child.environment = job.environment;
  child.environment.insert(child.environment.end(), place.variables.begin(), place.variables.end());
  child.environment.emplace_back("PLIMSOLL_RUN_ID", place.id);
  child.environment.emplace_back("PLIMSOLL_SOCKET", place.socket.string());
  // Python holds its output back when nobody is at a terminal; metrics would come late, and all at once.
  if (std::getenv("PYTHONUNBUFFERED") == nullptr) child.environment.emplace_back("PYTHONUNBUFFERED", "1");
  const std::filesystem::path log = place.artifacts / kLogName;
  FileDescriptor log_end;
  FileDescriptor read_end;
  if (options.if_killed == IfKilled::leave) {
    // A pipe ends with its reader, and who writes into it then ends, too: a file does not.
    log_end =
        FileDescriptor(::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    read_end = FileDescriptor(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!log_end || !read_end)
      return std::unexpected(Error{fmt::format("cannot write: {}", std::generic_category().message(errno)),
                                   log.string(),
                                   {},
                                   Error::Kind::machine_lacks});
    child.outlives_caller = true;
    child.capture_output = false;
    child.output = log_end.get();
  }
  const std::int64_t kills = kernel_memory_kills();
  Result<Child> started = Child::start(child);
  if (!started) return std::unexpected(std::move(started).error());
  if (read_end) started->read_output_from(std::move(read_end));
  std::unique_ptr<Watch> watch(new Watch(job, options, std::move(place), recorder, *std::move(started),
                                         *std::move(socket), std::move(patterns)));
  if (options.if_killed == IfKilled::end) watch->log_.emplace(errands, log, options.log_limit);
  watch->kernel_kills_before_ = kills;
  *self = watch.get();
  return watch;
}

Watch::Watch(JobSpec job, const WatchOptions& options, Place place, Recorder& recorder, Child child,
             MetricSocket socket, std::vector<MetricPattern> patterns)
    : job_(std::move(job)),
      options_(options),
      place_(std::move(place)),
      recorder_(recorder),
      child_(std::move(child)),
      patterns_(std::move(patterns)),
      tail_(kTail),
      output_(
          child_.output(), options.if_killed == IfKilled::leave,
          [this](std::string_view text) { take_text(text, false); },
          [this](std::string_view line) { take_line(line); }),
      error_(
          child_.error(), false, [this](std::string_view text) { take_text(text, true); },
          [this](std::string_view line) { take_line(line); }),
      socket_(std::move(socket)),
      started_(Clock::now()) {}

void Watch::take_text(std::string_view text, bool is_error) {
  if (log_) log_->add(text);
  tail_.add(text);
  if (Passage* passage = is_error ? place_.error : place_.output; passage != nullptr) passage->add(text);
  for (const auto& viewer : viewers_) {
    Passage& passage = is_error ? viewer->error : viewer->output;
    if (passage.has_room())
      passage.add(text);  // who looks on holds nobody up, and misses what they do not take
  }
}

void Watch::add_viewer(Control::Viewer viewer) {
  auto outlet = std::make_unique<Outlet>(std::move(viewer));
  outlet->output.add(tail_.text());
  viewers_.push_back(std::move(outlet));
}

void Watch::remove_viewer(int number) {
  viewers_.remove_if([&](const auto& viewer) { return viewer->number == number; });
}

bool Watch::viewers_are_served() const {
  return std::ranges::all_of(
      viewers_, [](const auto& viewer) { return viewer->output.is_empty() && viewer->error.is_empty(); });
}

void Watch::take_line(std::string_view line) {
  if (const auto statement = statement_in(line)) {
    take_statement(*statement, kFromOutput);
    return;
  }
  if (std::optional<std::string> wrong = unreadable_metric(line)) {
    if (metrics_unreadable_++ == 0) first_unreadable_ = *std::move(wrong);
    return;
  }
  for (const MetricPattern& pattern : patterns_)
    if (const auto metric = pattern.match(line)) take_metric(*metric, kFromOutput);
}

std::uint64_t Watch::take_statement(const Statement& statement, const store::Description& description) {
  if (const auto* metric = std::get_if<MetricLine>(&statement)) return take_metric(*metric, description);
  if (const auto* epoch = std::get_if<EpochLine>(&statement)) {
    see_epoch(epoch->epoch);
  } else if (const auto* param = std::get_if<ParamLine>(&statement)) {
    if (params_.size() < kMostStatements) params_.try_emplace(param->name, masked_text(param->value));
  } else if (const auto* artifact = std::get_if<ArtifactLine>(&statement)) {
    if (artifacts_.size() < kMostStatements) artifacts_.push_back(artifact->path);
  } else if (const auto* saved = std::get_if<SavedLine>(&statement)) {
    saved_ = saved->text;
  }
  return 0;
}

std::uint64_t Watch::take_metric(const MetricLine& line, const store::Description& description) {
  if (line.step && *line.step >= 0 && (!reached_.step || *line.step > *reached_.step)) {
    reached_.step = line.step;
    reached_.at = store::now();
  }
  // What comes by the socket is held back by the reader instead; output is not ours to hold back.
  if (&description == &kFromOutput && recorder_.congested()) {
    ++metrics_dropped_;
    return 0;
  }
  if (line.step) last_step_ = *line.step;
  if (line.epoch) see_epoch(*line.epoch);
  ++metrics_;
  return recorder_.metric(place_.number, line.name, {store::now(), line.step.value_or(0), line.value},
                          description);
}

void Watch::see_epoch(std::int64_t epoch) {
  if (epoch >= 0) reached_.epoch = std::max(epoch, reached_.epoch.value_or(0));
  if (recorder_.congested()) {
    ++metrics_dropped_;
    return;
  }
  static_cast<void>(recorder_.metric(place_.number, "epoch",
                                     {store::now(), last_step_, static_cast<double>(epoch)}, kFromOutput));
  if (job_.epoch_limit && epoch >= *job_.epoch_limit && !stopped_ && !child_.has_ended())
    stop(StopCause::epoch_limit, SIGTERM, Clock::now());
}

void Watch::collect_stream(Interests& interests, OutputStream& stream, Passage* passage) {
  if (!stream.is_open()) return;
  if (passage != nullptr && passage->is_broken()) {
    stream.close();  // the command learns it as it would have without us
    return;
  }
  if (passage != nullptr && !passage->has_room()) return;
  interests.push_back({stream.descriptor(), POLLIN, [&stream] { stream.read_some(); }});
}

void Watch::collect(Interests& interests) {
  for (const auto& viewer : viewers_) {
    viewer->output.collect(interests);
    viewer->error.collect(interests);
  }
  if (is_over_) return;
  if (!follows_file()) {  // of which there is always something to be had
    collect_stream(interests, output_, place_.output);
    collect_stream(interests, error_, place_.error);
  }
  socket_.collect(interests, !recorder_.congested());
  if (!leader_ended_) interests.push_back({child_.exit_descriptor(), POLLIN, [] {}});
}

void Watch::acknowledge() {
  socket_.acknowledge(recorder_.committed(place_.number));
  if (const auto why = recorder_.lost(place_.number)) socket_.refuse(*why);
}

std::string Watch::mark() const {
  return fmt::format("{}={}", kRunVariable, place_.id);
}

/// True where none is left.
bool Watch::look_for_orphans(Clock::time_point now) {
  next_look_ = now + milliseconds(200);
  auto living = processes_with(mark(), child_.pid());
  // One that starts another and ends between the listing and the look at it hides both.
  if (living.empty()) living = processes_with(mark(), child_.pid());
  std::erase_if(orphans_, [&](pid_t pid) {
    return std::ranges::none_of(living, [&](const ProcessIdentity& process) { return process.pid == pid; });
  });
  for (const ProcessIdentity& process : living)
    if (std::ranges::find(orphans_, process.pid) == orphans_.end()) {
      orphans_.push_back(process.pid);
      new_orphans_.push_back(process.pid);
    }
  return living.empty();
}

bool Watch::proceed(Clock::time_point now) {
  const bool ended = child_.has_ended();  // asked first: what ended in time has not reached the limit
  if (follows_file() && (ended || now >= next_read_) &&
      (place_.output == nullptr || place_.output->has_room())) {
    output_.read_some();
    next_read_ = now + kFollowing;
  }
  if ((!ended || leader_ended_) && job_.time_limit && !stopped_ &&
      now - started_ >= std::chrono::duration<double>(job_.time_limit->value()))
    stop(StopCause::time_limit, SIGTERM, now);
  if (kill_at_ && now >= *kill_at_ && !killed_) kill();
  if (!ended) return false;
  if (!leader_ended_) {
    leader_ended_ = true;
    if (options_.orphans == Orphans::end && !kill_at_) {
      child_.signal_group(SIGTERM);
      kill_at_ = now + options_.grace;
    }
    next_look_ = now;
  }
  if (now < next_look_) return false;
  const bool none_left = look_for_orphans(now);
  if (!none_left && options_.orphans != Orphans::leave) {
    if (killed_) kill();  // those that appeared since
    return false;
  }
  // Of one that is left running no more is taken than it had written by now.
  for (int piece = 0; piece < 16 && output_.is_open() && output_.read_some(); ++piece) continue;
  for (int piece = 0; piece < 16 && error_.is_open() && error_.read_some(); ++piece) continue;
  output_.finish();
  error_.finish();
  socket_.drain();
  if (log_) log_->finish();
  is_over_ = true;
  if (!none_left) child_.reap();  // they are left alone: nobody signals the group again
  return true;
}

Watch::Clock::time_point Watch::next(Clock::time_point now) const {
  Clock::time_point out = now + std::chrono::hours(1);
  if (job_.time_limit && !stopped_)
    out = std::min(out, started_ + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(job_.time_limit->value())));
  if (kill_at_ && !killed_) out = std::min(out, *kill_at_);
  if (leader_ended_) out = std::min(out, next_look_);
  if (follows_file()) out = std::min(out, next_read_);
  return out;
}

void Watch::stop(StopCause cause, int signal, Clock::time_point now) {
  if (!stopped_) stopped_ = cause;
  child_.signal_group(signal);
  for (const ProcessIdentity& process : processes_with(mark(), child_.pid())) ::kill(process.pid, signal);
  if (!kill_at_) kill_at_ = now + options_.grace;
}

void Watch::hasten(Clock::time_point kill_at) {
  if (stopped_) kill_at_ = std::min(kill_at, kill_at_.value_or(kill_at));
}

void Watch::pass_signal(int signal) {
  if (!ends_programs(signal)) {
    child_.signal_group(signal);
    return;
  }
  if (!stopped_) stopped_ = StopCause::interrupted;
  child_.signal_group(signal);
  // Ctrl-C may be answered by saving a checkpoint, which takes its time; only the third one is meant
  // seriously.
  if (signal == SIGINT) {
    if (++interrupts_ >= 3) kill();
  } else if (!kill_at_) {
    kill_at_ = Clock::now() + options_.grace;
  }
}

void Watch::kill() {
  killed_ = true;
  child_.signal_group(SIGKILL);
  for (const ProcessIdentity& process : processes_with(mark(), child_.pid())) ::kill(process.pid, SIGKILL);
}

Evidence Watch::evidence() const {
  return {.exit_code = child_.exit_code(),
          .signal = child_.signal(),
          .stopped = stopped_,
          .kernel_killed = kernel_memory_kills() > kernel_kills_before_,
          .mps_daemon_ended = daemon_ended_,
          .output_tail = std::string(tail_.text())};
}

std::vector<pid_t> Watch::take_orphans() {
  return std::exchange(new_orphans_, {});
}

}  // namespace plimsoll::running
