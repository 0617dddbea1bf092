#include "run/supervisor_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/own_children.hpp"
#include "base/spawning.hpp"
#include "run/runtime_directory.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll::running {
namespace {

// What a supervisor tells of a job that it runs; who is not trusted says no more at once.
constexpr std::size_t kLongestOfOthers = std::size_t{1} << 20;

std::unexpected<Error> cannot(int code) {
  return std::unexpected(
      Error{fmt::format("cannot start a supervisor: {}", std::generic_category().message(code)),
            {},
            {},
            Error::Kind::machine_lacks});
}

/// posix_spawn's descriptions, freed together.
struct Plan {
  Plan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// Ends up as `pid`, or gives an error number. What this process ignores stays ignored, but for SIGPIPE.
int spawn(pid_t& pid, const std::string& program, int caller, const SessionOptions& options) {
  Plan plan;
  sigset_t none;
  sigset_t reset;
  sigemptyset(&none);
  sigemptyset(&reset);
  sigaddset(&reset, SIGPIPE);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &reset);
  // A session of its own: neither the terminal's signals nor its end reach it but through its caller.
  posix_spawnattr_setflags(&plan.attributes, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                                POSIX_SPAWN_SETSIGDEF));
  if (!options.inherit_input)
    posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!options.show_output || options.output_to_error)
    posix_spawn_file_actions_addopen(&plan.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (!options.show_output)
    posix_spawn_file_actions_addopen(&plan.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, caller, kCallerDescriptor);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, kCallerDescriptor + 1);
  std::vector<std::string> argv{"plimsoll", "supervise"};
  std::vector<std::string> environment = environment_with({});
  std::vector<char*> argv_pointers = exec_pointers(argv);
  std::vector<char*> environment_pointers = exec_pointers(environment);
  int failure = 0;
  pid = start_own_child([&] {
    pid_t started = -1;
    failure = ::posix_spawn(&started, program.c_str(), &plan.actions, &plan.attributes, argv_pointers.data(),
                            environment_pointers.data());
    return failure == 0 ? started : -1;
  });
  return failure;
}

}  // namespace

Result<SupervisorClient> SupervisorClient::launch(const Order& order) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return cannot(errno);
  FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  // dup2 onto itself would leave it closed on exec.
  if (theirs.get() == kCallerDescriptor) {
    FileDescriptor moved(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kCallerDescriptor + 1));
    if (!moved) return cannot(errno);
    theirs = std::move(moved);
  }
  pid_t pid = 0;
  if (const int code = spawn(pid, order.options.program, theirs.get(), order.options); code != 0)
    return cannot(code);
  theirs.reset();
  SupervisorClient client(std::move(ours), pid);
  if (Status sent = send_all(client.socket_.get(), line_of(order_json(order))); !sent) {
    client.wait();
    return std::unexpected(std::move(sent).error().within("the supervisor"));
  }
  return client;
}

Result<SupervisorClient> SupervisorClient::connect(const std::filesystem::path& socket,
                                                   std::optional<uid_t> owner) {
  // The socket of one that runs as another user is whatever that user put there.
  Result<FileDescriptor> connected = connect_to(socket, Patience::none);
  if (!connected) return std::unexpected(std::move(connected).error());
  // Else who may ask for less would have root ask for it: another's supervisor, or root's own daemon, obeys.
  if (owner && owner_of(connected->get()) != owner)
    return std::unexpected(
        Error{"who listens there is not the job's user", socket.string(), {}, Error::Kind::not_found});
  SupervisorClient client(*std::move(connected));
  if (owner) client.longest_ = kLongestOfOthers;
  return client;
}

std::vector<job::Json> SupervisorClient::receive() {
  constexpr int kMostChunks = 64;
  std::vector<job::Json> out;
  std::array<char, std::size_t{64} << 10> chunk;  // filled by recv
  for (int chunks = 0; socket_ && chunks < kMostChunks; ++chunks) {
    const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      socket_.reset();
      break;
    }
    input_.append(chunk.data(), static_cast<std::size_t>(count));
    std::string_view rest = input_;
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (Result<job::Json> message = read_message(rest.substr(0, end))) out.push_back(*std::move(message));
      rest.remove_prefix(end + 1);
    }
    input_.erase(0, input_.size() - rest.size());
    if (input_.size() > longest_) socket_.reset();
  }
  return out;
}

std::vector<job::Json> SupervisorClient::wait_and_receive(std::optional<std::chrono::milliseconds> patience) {
  pollfd ready{socket_.get(), POLLIN, 0};
  ::poll(&ready, 1, patience ? static_cast<int>(patience->count()) : -1);
  return receive();
}

void SupervisorClient::send(const job::Json& message, const std::vector<int>& descriptors) {
  if (!socket_) return;
  pollfd ready{socket_.get(), POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return socket_.reset();
  static_cast<void>(send_all(socket_.get(), line_of(message), descriptors));
}

void SupervisorClient::send_signal(int signal) {
  send({{"type", "signal"}, {"number", signal}});
}

void SupervisorClient::wait() {
  socket_.reset();
  if (pid_ == 0) return;
  static_cast<void>(wait_for_own_child(std::exchange(pid_, 0)));
}

bool SupervisorClient::leave() {
  socket_.reset();
  if (pid_ != 0 && own_child_has_ended(pid_)) wait();
  return pid_ == 0;
}

std::vector<FoundSupervisor> find_supervisors(const std::filesystem::path& base) {
  std::vector<FoundSupervisor> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
    if (!entry.is_directory(ignored) || entry.is_symlink(ignored)) continue;
    const auto owner = ProcessIdentity::parse(read_file(entry.path() / "owner", 4096).value_or(""));
    const std::filesystem::path socket = entry.path() / kControlSocket;
    if (!owner || !owner->lives() || !std::filesystem::exists(socket, ignored)) continue;
    out.push_back({socket, *owner, noted_runs(entry.path()), noted_waiting(entry.path())});
  }
  return out;
}

}  // namespace plimsoll::running
