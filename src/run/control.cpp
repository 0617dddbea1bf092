#include "run/control.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/signals_held_back.hpp"
#include "run/process_identity.hpp"
#include "run/supervision.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll::running {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostUnread = std::size_t{4} << 20;  // by one who does not listen
constexpr std::size_t kLongestRequest = std::size_t{64} << 10;
constexpr std::size_t kMostDescriptors = 2;
constexpr auto kLastWords = std::chrono::seconds(5);

struct Connection {
  int number = 0;
  FileDescriptor socket;
  bool caller = false;
  bool viewer = false;
  bool ended = false;
  std::string input = {};
  std::string output = {};
  std::vector<FileDescriptor> descriptors = {};
};

void notify(const FileDescriptor& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}
void empty(const FileDescriptor& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(event.get(), &count, sizeof count);
}

bool may_be_sent(std::int64_t number) {
  constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
  return std::ranges::find(kSignals, number) != kSignals.end();
}

}  // namespace

struct Control::State {
  FileDescriptor listener;
  FileDescriptor news_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  FileDescriptor wake_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  std::mutex mutex;
  News news;
  std::string to_all;  // told, not yet given to the connections
  // For those who come later, in this order; what has a key is replaced where it stands.
  std::vector<std::pair<std::string, std::string>> kept;
  std::optional<Clock::time_point> end_by;

  // The thread's own.
  std::list<Connection> connections;
  int last_number = 0;
  std::thread thread;

  void announce(const auto& change) {
    {
      const std::scoped_lock lock(mutex);
      change(news);
    }
    notify(news_event);
  }

  void welcome(FileDescriptor socket, bool caller) {
    const auto self = ProcessIdentity::of(::getpid());
    Connection connection{.number = ++last_number, .socket = std::move(socket), .caller = caller};
    connection.output =
        line_of({{"type", "hello"}, {"version", 1}, {"supervisor", self ? self->text() : std::string()}});
    const std::scoped_lock lock(mutex);
    give_out();  // so that the newcomer is not told twice what is kept
    for (const auto& [key, line] : kept) connection.output += line;
    connections.push_back(std::move(connection));
  }

  void accept_all() {
    while (true) {
      FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) return;
      // Only this user can reach the socket; the kernel's word counts beside the folder's mode.
      if (connections.size() < kMostConnections && is_of_this_user(socket.get()))
        welcome(std::move(socket), false);
    }
  }

  void end(Connection& connection) {
    if (std::exchange(connection.ended, true)) return;
    announce([&](News& told) {
      if (connection.viewer) told.left.push_back(connection.number);
      told.caller_left = told.caller_left || connection.caller;
    });
  }

  void receive(Connection& connection) {
    std::array<char, std::size_t{16} << 10> bytes;  // filled by recvmsg
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 8)> control{};
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(connection.socket.get(), &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) return end(connection);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < descriptors; ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
        FileDescriptor owned(descriptor);
        if (connection.descriptors.size() < kMostDescriptors)
          connection.descriptors.push_back(std::move(owned));
      }
    }
    connection.input.append(bytes.data(), static_cast<std::size_t>(count));
    std::string_view rest = connection.input;
    for (auto stop = rest.find('\n'); stop != std::string_view::npos; stop = rest.find('\n')) {
      obey(connection, rest.substr(0, stop));
      rest.remove_prefix(stop + 1);
    }
    connection.input.erase(0, connection.input.size() - rest.size());
    if (connection.input.size() > kLongestRequest) end(connection);
  }

  void obey(Connection& connection, std::string_view line) {
    const Result<job::Json> message = read_message(line);
    if (!message) return end(connection);
    const std::string type = type_of(*message);
    if (type == "signal") {
      const auto found = message->find("number");
      if (found == message->end() || !found->is_number_integer()) return;
      const auto number = found->get<std::int64_t>();
      if (may_be_sent(number)) ::kill(::getpid(), static_cast<int>(number));
    } else if (type == "stop" || type == "kill") {
      const auto found = message->find("run");
      if (found == message->end() || !found->is_string()) return;
      announce(
          [&](News& told) { (type == "stop" ? told.stop : told.kill).push_back(found->get<std::string>()); });
    } else if (type == "attach" && connection.descriptors.size() == kMostDescriptors && !connection.viewer) {
      const auto found = message->find("run");
      if (found == message->end() || !found->is_string()) return;
      connection.viewer = true;
      Viewer viewer{connection.number, found->get<std::string>(), std::move(connection.descriptors[0]),
                    std::move(connection.descriptors[1])};
      connection.descriptors.clear();
      announce([&](News& told) { told.came.push_back(std::move(viewer)); });
    }
  }

  void send(Connection& connection) {
    const ssize_t count = ::send(connection.socket.get(), connection.output.data(), connection.output.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count < 0) return end(connection);
    connection.output.erase(0, static_cast<std::size_t>(count));
  }

  /// With the mutex held.
  void give_out() {
    const std::string text = std::exchange(to_all, {});
    for (Connection& connection : connections) connection.output += text;
  }

  void hand_out() {
    {
      const std::scoped_lock lock(mutex);
      give_out();
    }
    for (Connection& connection : connections)
      if (connection.output.size() > kMostUnread) end(connection);
  }

  /// All is said, or nobody takes it.
  bool is_over() {
    const std::scoped_lock lock(mutex);
    if (!end_by || !to_all.empty()) return false;
    return Clock::now() >= *end_by || std::ranges::all_of(connections, [](const Connection& connection) {
             return connection.output.empty();
           });
  }

  void run() {
    while (true) {
      hand_out();
      connections.remove_if([](const Connection& connection) { return connection.ended; });
      if (is_over()) return;
      std::vector<pollfd> descriptors{{wake_event.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
      std::vector<Connection*> polled;
      for (Connection& connection : connections) {
        const auto events = static_cast<short>(POLLIN | (connection.output.empty() ? 0 : POLLOUT));
        descriptors.push_back({connection.socket.get(), events, 0});
        polled.push_back(&connection);
      }
      bool ending = false;
      {
        const std::scoped_lock lock(mutex);
        ending = end_by.has_value();
      }
      ::poll(descriptors.data(), descriptors.size(), ending ? 100 : -1);
      if (descriptors[0].revents != 0) empty(wake_event);
      for (std::size_t i = 0; i < polled.size(); ++i) {
        const short events = descriptors[i + 2].revents;
        if ((events & POLLOUT) != 0) send(*polled[i]);
        if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !polled[i]->ended) receive(*polled[i]);
      }
      if (descriptors[1].revents != 0) accept_all();
    }
  }
};

Result<std::unique_ptr<Control>> Control::start(const std::filesystem::path& path, FileDescriptor&& caller) {
  Result<FileDescriptor> listener = listen_at(path);
  if (!listener) return std::unexpected(std::move(listener).error());
  auto state = std::make_unique<State>();
  state->listener = *std::move(listener);
  if (caller) {
    ::fcntl(caller.get(), F_SETFL, O_NONBLOCK);
    state->welcome(std::move(caller), true);
  }
  const SignalsHeldBack held;
  state->thread = std::thread([running = state.get()] { running->run(); });
  return std::unique_ptr<Control>(new Control(std::move(state)));
}

Control::Control(std::unique_ptr<State> state) : state_(std::move(state)) {}

Control::~Control() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->end_by = Clock::now() + kLastWords;
  }
  notify(state_->wake_event);
  state_->thread.join();
}

void Control::tell(const job::Json& message, bool kept) {
  const std::string line = line_of(message);
  {
    const std::scoped_lock lock(state_->mutex);
    state_->to_all += line;
    if (kept) state_->kept.emplace_back(std::string(), line);
  }
  notify(state_->wake_event);
}

void Control::tell_newest(const std::string& key, const job::Json& message) {
  const std::string line = line_of(message);
  {
    const std::scoped_lock lock(state_->mutex);
    state_->to_all += line;
    const auto before = std::ranges::find(state_->kept, key, &std::pair<std::string, std::string>::first);
    if (before != state_->kept.end())
      before->second = line;
    else
      state_->kept.emplace_back(key, line);
  }
  notify(state_->wake_event);
}

int Control::descriptor() const {
  return state_->news_event.get();
}

Control::News Control::take() {
  empty(state_->news_event);
  const std::scoped_lock lock(state_->mutex);
  return std::exchange(state_->news, {});
}

}  // namespace plimsoll::running
