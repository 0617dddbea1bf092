#include "live_forward.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/signals_held_back.hpp"
#include "forward/forwarder.hpp"
#include "forward/http_client.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetween{2000}, kLongestPause{30'000};
constexpr milliseconds kPatience{10'000};  ///< for the rest, after the commands' end
constexpr milliseconds kRetry{500};
/// For the thread to notice that it should end; libcurl looks once a second.
constexpr milliseconds kGrace{2500};
/// The store is waited for less than by the commands' own record, which goes first.
constexpr milliseconds kBusy{2000};
constexpr std::size_t kDigits = 8;  ///< of a run's id that people are shown

/// A run on its way.
struct Sent {
  std::string run;
  std::unique_ptr<forward::Forwarder> forwarder = {};
  std::optional<Error> error = {};  ///< why not all is there
  bool refused = false;             ///< for good
  std::size_t refusals_told = 0;    ///< of single params and tags
};

/// A word of a command line that a shell reads as it is.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-._/:@%+=,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

struct LiveForward::State {
  explicit State(Options given) : options(std::move(given)) {}

  void work();
  void send_all();
  bool send(Sent& sent, bool goes_on);
  Status open();
  void tell_trouble(const Error& error);
  void tell_refusals(Sent& sent) const;
  void tell_result() const;
  std::string address_to_give() const;
  std::string later_command(const std::vector<std::string>& names) const;
  [[nodiscard]] bool should_end() {
    const std::scoped_lock lock(mutex);
    return stopping || (draining && Clock::now() >= deadline);
  }

  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex.
  std::vector<std::string> added;
  std::set<std::string> ended;
  bool stopping = false, draining = false, done = false;
  Clock::time_point deadline = {};
  // The thread's alone, until it is done.
  std::unique_ptr<store::Store> store;
  std::optional<forward::HttpClient> client;
  std::optional<forward::MlflowRemote> remote;
  std::vector<Sent> runs;
  std::string told;
  bool away = false;
  std::thread thread;
};

LiveForward::LiveForward(Options options) : state_(std::make_shared<State>(std::move(options))) {
  const SignalsHeldBack held;
  state_->thread = std::thread([state = state_] { state->work(); });
}

LiveForward::~LiveForward() {
  stop();
}

void LiveForward::add(const std::string& run) {
  if (run.empty()) return;
  const std::scoped_lock lock(state_->mutex);
  state_->added.push_back(run);
  state_->changed.notify_all();
}

void LiveForward::ended(const std::string& run) {
  add(run);
  const std::scoped_lock lock(state_->mutex);
  state_->ended.insert(run);
}

/// Ends the thread; one that hangs all the same is left to the end of the process.
void LiveForward::stop() {
  State& state = *state_;
  if (!state.thread.joinable()) return;
  std::unique_lock lock(state.mutex);
  state.stopping = true;
  state.changed.notify_all();
  const bool done = state.changed.wait_for(lock, kGrace, [&] { return state.done; });
  lock.unlock();
  if (done)
    state.thread.join();
  else
    state.thread.detach();
}

void LiveForward::finish(Interruption& interruption) {
  constexpr milliseconds kQuiet{700}, kLook{50};
  State& state = *state_;
  {
    const std::scoped_lock lock(state.mutex);
    state.draining = true;
    state.deadline = Clock::now() + kPatience;
    state.changed.notify_all();
  }
  const Clock::time_point begun = Clock::now();
  bool told = false;
  for (bool done = false; !done && Clock::now() < state.deadline && !interruption.came();) {
    std::unique_lock lock(state.mutex);
    done = state.changed.wait_for(lock, kLook, [&] { return state.done; });
    lock.unlock();
    if (done || told || Clock::now() - begun < kQuiet) continue;
    told = true;
    if (state.options.say)
      state.options.say(fmt::format("sending the rest to MLflow at {}, for {} s at most; Ctrl-C leaves it",
                                    state.options.server.shown,
                                    std::chrono::duration_cast<std::chrono::seconds>(kPatience).count()));
  }
  stop();
  const std::scoped_lock lock(state.mutex);
  if (state.done)
    state.tell_result();
  else
    state.options.warn(
        fmt::format("MLflow at {} hangs; `plimsoll export-mlflow RUN --mlflow-uri {}` sends the "
                    "rest later",
                    state.options.server.shown, shell_word(state.address_to_give())));
}

/// The thread.
void LiveForward::State::work() {
  milliseconds pause = kBetween;
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, pause, [&] { return stopping || draining || (!away && !added.empty()); });
      if (stopping) break;
      last = draining;
      for (std::string& run : added)
        if (std::ranges::find(runs, run, &Sent::run) == runs.end()) runs.push_back({std::move(run)});
      added.clear();
    }
    send_all();
    pause = away ? std::min(pause * 2, kLongestPause) : kBetween;
    if (!last || !away || should_end()) continue;
    // The commands have ended: a server that is away now is tried once more, and then left.
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kRetry, [&] { return stopping; });
    lock.unlock();
    if (!should_end()) send_all();
  }
  const std::scoped_lock lock(mutex);
  done = true;
  changed.notify_all();
}

Status LiveForward::State::open() {
  if (!store) {
    Result<std::unique_ptr<store::Store>> opened =
        store::open(options.store, {.create = false, .busy_timeout = kBusy});
    if (!opened) return std::unexpected(std::move(opened).error());
    store = std::move(*opened);
  }
  if (!client) {
    Result<forward::HttpClient> made =
        forward::HttpClient::open(options.server, [this] { return should_end(); });
    if (!made) return std::unexpected(std::move(made).error());
    client = std::move(*made);
    remote.emplace([this](const forward::Request& request) { return client->exchange(request); },
                   options.server.shown);
  }
  return {};
}

void LiveForward::State::send_all() {
  away = false;
  if (runs.empty()) return;
  bool finishing = false;
  std::set<std::string> at_their_end;
  {
    const std::scoped_lock lock(mutex);
    finishing = draining;
    at_their_end = ended;
  }
  if (const Status opened = open(); !opened) {
    for (Sent& sent : runs) sent.error = opened.error();
    away = true;
    return tell_trouble(opened.error());
  }
  for (Sent& sent : runs) {
    // What comes after a run's end (versions of packages) is looked for once, when all have ended.
    if (sent.refused || (!finishing && sent.forwarder && sent.forwarder->complete())) continue;
    const bool goes_on = !finishing && !at_their_end.contains(sent.run);
    const bool is_there = send(sent, goes_on);
    tell_refusals(sent);
    if (!is_there) break;
  }
}

/// False: the server is not there for the others either.
bool LiveForward::State::send(Sent& sent, bool goes_on) {
  if (!sent.forwarder)
    sent.forwarder = std::make_unique<forward::Forwarder>(*store, *remote, options.server.url, sent.run);
  while (!should_end()) {
    const Result<bool> more = sent.forwarder->send_some(goes_on);
    if (!more) {
      sent.error = more.error();
      sent.refused = !more.error().may_pass();
      away = !sent.refused;
      tell_trouble(more.error());
      return sent.refused;
    }
    sent.error.reset();
    if (!*more) return true;
  }
  return false;
}

/// Each kind of trouble once.
void LiveForward::State::tell_trouble(const Error& error) {
  const std::string text = error.text();
  {
    const std::scoped_lock lock(mutex);
    if (draining || stopping) return;  // what is left is told at the end
  }
  if (text == told || !options.say) return;
  told = text;
  options.say(fmt::format("MLflow: {}; the command goes on{}", printable(text),
                          error.may_pass() ? ", and it is tried again" : ""));
}

/// Params and tags that the server does not take: each once, several in one line.
void LiveForward::State::tell_refusals(Sent& sent) const {
  const std::vector<forward::Forwarder::Refused>& refused = sent.forwarder->refused();
  const std::size_t before = std::exchange(sent.refusals_told, refused.size());
  if (before == refused.size()) return;
  std::string others;
  for (std::size_t i = before + 1; i < refused.size(); ++i) others += ", " + refused[i].what;
  options.warn(fmt::format("MLflow at {} does not take {} of run {}: {}{}; the rest is sent",
                           options.server.shown, refused[before].what, sent.run.substr(0, kDigits),
                           printable(refused[before].why), others.empty() ? "" : "; nor" + others.substr(1)));
}

/// The address as it must be given, with a place for the password, which is not shown.
std::string LiveForward::State::address_to_give() const {
  constexpr std::string_view kMasked = ":***@";
  std::string out = options.server.shown;
  if (const std::size_t at = out.find(kMasked); at != std::string::npos)
    out.replace(at, kMasked.size(), ":PASSWORD@");
  return out;
}

std::string LiveForward::State::later_command(const std::vector<std::string>& names) const {
  std::string out = "plimsoll export-mlflow";
  for (const std::string& name : names) out += " " + name;
  out += " --mlflow-uri " + shell_word(address_to_give());
  if (!options.store.empty() && options.store.find("://") == std::string::npos)
    out += " --store " + shell_word(options.store);
  return out;
}

void LiveForward::State::tell_result() const {
  std::vector<std::string> left;
  for (const std::string& run : added)
    if (std::ranges::find(runs, run, &Sent::run) == runs.end()) left.push_back(run);
  std::optional<Error> why;
  for (const Sent& sent : runs) {
    if (sent.forwarder && sent.forwarder->complete()) {
      const forward::RemoteRun& there = *sent.forwarder->remote_run();
      if (options.say)
        options.say(fmt::format("run {} is at {}/#/experiments/{}/runs/{}", sent.run.substr(0, kDigits),
                                options.server.url, printable(there.experiment_id), printable(there.id)));
      continue;
    }
    left.push_back(sent.run);
    if (!why && sent.error) why = sent.error;
  }
  if (left.empty()) return;
  for (std::string& run : left) run = run.substr(0, kDigits);
  const std::string reason = why ? ": " + printable(why->text()) : "";
  options.warn(
      fmt::format("not all was sent to MLflow{}; later: {}", reason, printable(later_command(left))));
  if (why && !why->hint.empty()) options.warn("  " + printable(why->hint));
}

}  // namespace plimsoll
