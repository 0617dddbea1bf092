#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "command.hpp"
#include "forward/server_address.hpp"
#include "interruption.hpp"
#include "live_forward.hpp"
#include "private_server.hpp"
#include "run/attempt_folder.hpp"
#include "run/job_json.hpp"
#include "run/services.hpp"
#include "run/supervision.hpp"
#include "run/supervisor.hpp"
#include "run/supervisor_client.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll {
namespace {

using running::Ended;
using running::Order;

/// The one line that the caller says first.
Result<Order> receive_order(int caller) {
  std::string text;
  std::array<char, std::size_t{64} << 10> chunk;  // filled by read
  while (!text.ends_with('\n')) {
    const ssize_t count = ::read(caller, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail("no order came; `plimsoll run` starts a supervisor, people do not");
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > running::kLongestMessage) return fail("an order that is too long");
  }
  text.pop_back();
  const Result<job::Json> message = running::read_message(text);
  if (!message) return std::unexpected(message.error());
  return running::read_order(*message);
}

/// What the commands log to MLflow shall land in their runs. Where the user has a server of their own, they
/// log there as ever, unless their runs are sent on; and no command fails for lack of one.
std::optional<PrivateServer> serve_commands(const Order& order,
                                            const std::function<void(const std::string&)>& warn) {
  if (order.no_mlflow) return std::nullopt;
  if (const char* theirs = std::getenv("MLFLOW_TRACKING_URI");
      theirs != nullptr && *theirs != '\0' && order.mlflow_uri.empty()) {
    if (!order.quiet)
      warn("MLFLOW_TRACKING_URI is set: what the command logs to MLflow goes there, not into this run");
    return std::nullopt;
  }
  Result<PrivateServer> server = PrivateServer::start(order.options.store);
  if (!server) {
    warn(fmt::format("MLflow's client cannot log into this run: {}", server.error().text()));
    return std::nullopt;
  }
  return std::move(*server);
}

/// All that is told goes to whoever listens.
running::Listener listener_of(running::Control& control, const Order& order) {
  running::Listener listener;
  if (!order.quiet)
    listener.say = [&control](const std::string& line) {
      control.tell({{"type", "say"}, {"text", job::text_json(line)}});
    };
  listener.warn = [&control](const std::string& line) {
    control.tell({{"type", "warn"}, {"text", job::text_json(line)}});
  };
  listener.started = [&control, &order](std::size_t job, const std::string& run) {
    control.tell(
        {{"type", "started"}, {"job", job}, {"run", run}, {"spec", running::job_json(order.jobs[job])}},
        true);
  };
  listener.ended = [&control](const Ended& ended) { control.tell(running::ended_json(ended), true); };
  listener.saved = [&control](const std::string& run, const running::Saved& saved) {
    control.tell_newest(
        "saved " + run,
        {{"type", "saved"}, {"run", run}, {"text", job::text_json(saved.text)}, {"at", saved.at.value()}});
  };
  listener.progress = [&control](const running::Progress& progress) {
    control.tell_newest("progress " + progress.run, running::progress_json(progress));
  };
  return listener;
}

/// The runs are sent to an MLflow server, too, where the order names one.
Result<running::SessionResult> carry_out(const Order& order, const running::Listener& listener,
                                         running::Control& control, running::SignalSource signals,
                                         const running::RuntimeDirectory& directory) {
  std::optional<LiveForward> forward;
  running::Listener watched = listener;
  if (!order.mlflow_uri.empty()) {
    Result<forward::ServerAddress> address =
        forward::parse_address(order.mlflow_uri, forward::credentials_of_environment());
    if (!address) return std::unexpected(std::move(address).error().within("--mlflow-uri"));
    forward.emplace(LiveForward::Options{
        .server = *address, .store = order.options.store, .say = listener.say, .warn = listener.warn});
    watched.started = [&](std::size_t job, const std::string& run) {
      forward->add(run);
      listener.started(job, run);
    };
    watched.ended = [&](const Ended& ended) {
      forward->ended(ended.run);
      listener.ended(ended);
    };
  }
  // Opened with the store, beside the loop, and not used before that is done.
  const auto server = std::make_shared<std::optional<PrivateServer>>();
  running::Services services;
  services.open_also = [server, order](const std::function<void(const std::string&)>& warn) {
    *server = serve_commands(order, warn);
  };
  running::SessionOptions options = order.options;
  options.variables_of = [server](const std::string& run) {
    return *server ? (*server)->variables(run) : running::Variables();
  };
  Result<running::SessionResult> result =
      running::supervise(order.jobs, options, watched, control, signals, directory, services);
  if (result && result->hangs) return result;
  server->reset();  // what it had taken is in the store now
  if (result && forward) {
    Interruption interruption(std::move(signals));
    forward->finish(interruption);
  }
  return result;
}

/// Becomes whom the queue wants it to be, before anything else is done or started, and takes the attempt.
Result<std::shared_ptr<const running::HeldAttempt>> take(const running::Attempt& attempt, int caller) {
  if (attempt.user) {
    // What a daemon of root's has open is not the user's.
    const auto keep = static_cast<unsigned>(caller);
    ::close_range(STDERR_FILENO + 1, keep - 1, 0);
    ::close_range(keep + 1, ~0U, 0);
  }
  // The folders above may be such that only the daemon comes there.
  Result<running::AttemptFolder> folder =
      running::AttemptFolder::open(attempt.folder, attempt.user ? attempt.user->user : ::geteuid());
  if (!folder) return std::unexpected(std::move(folder).error());
  if (attempt.user) PLIMSOLL_TRY(running::become(*attempt.user));
  if (attempt.environment) PLIMSOLL_TRY(running::replace_environment(*attempt.environment));
  ::umask(attempt.umask);
  if (::chdir("/") != 0) return fail("cannot leave the daemon's directory");
  PLIMSOLL_TRY(folder->lock());
  return std::make_shared<const running::HeldAttempt>(
      running::HeldAttempt{.attempt = attempt, .folder = *std::move(folder)});
}

Result<int> supervise() {
  std::signal(SIGPIPE, SIG_IGN);
  FileDescriptor caller(::fcntl(running::kCallerDescriptor, F_DUPFD_CLOEXEC, running::kCallerDescriptor + 1));
  if (!caller) return fail("`plimsoll run` starts a supervisor, people do not");
  ::close(running::kCallerDescriptor);
  const auto refuse = [&](const Error& error) -> Result<int> {
    static_cast<void>(running::send_all(
        caller.get(), running::line_of({{"type", "failed"}, {"error", running::error_json(error)}})));
    return 0;
  };
  Result<Order> order = receive_order(caller.get());
  if (!order) return refuse(order.error());
  if (order->attempt) {
    auto attempt = take(*order->attempt, caller.get());
    if (!attempt) return refuse(attempt.error());
    order->options.attempt = *std::move(attempt);
  }
  Result<running::SignalSource> signals = running::SignalSource::open(true);
  if (!signals) return refuse(signals.error());
  const auto base = running::RuntimeDirectory::base();
  if (!base) return refuse(base.error());
  Result<running::RuntimeDirectory> made = running::RuntimeDirectory::make(*base);
  if (!made) return refuse(made.error());
  std::optional<running::RuntimeDirectory> directory(*std::move(made));
  auto started = running::Control::start(directory->path() / running::kControlSocket, std::move(caller));
  if (!started) return refuse(started.error());
  std::unique_ptr<running::Control> control = *std::move(started);
  const Result<running::SessionResult> result =
      carry_out(*order, listener_of(*control, *order), *control, *std::move(signals), *directory);
  if (!result)
    control->tell({{"type", "failed"}, {"error", running::error_json(result.error())}}, true);
  else
    control->tell({{"type", "finished"},
                   {"interrupted", result->interrupted},
                   {"frames", result->frames},
                   {"cpu_seconds", result->sampler_cpu_seconds}},
                  true);
  control.reset();
  directory.reset();
  // What hangs would hold up the end of the process, too.
  if (result && result->hangs) std::_Exit(0);
  return 0;
}

}  // namespace

void add_supervise(CommandLine& app, Invocation& invocation) {
  CommandLine* command =
      app.add_subcommand("supervise", "What `plimsoll run` starts to run and watch commands")->group("");
  command->callback([&invocation] { invocation.run = [] { return supervise(); }; });
}

}  // namespace plimsoll
