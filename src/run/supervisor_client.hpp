#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "job/fields.hpp"
#include "run/process_identity.hpp"
#include "run/supervision.hpp"

namespace plimsoll::running {

/// A connection to a supervisor, started by this process or found.
class SupervisorClient {
 public:
  /// Starts one, in a session of its own, with this process's directory and environment, and gives it its
  /// order. Of the three standard streams it gets those that the order lets it use.
  [[nodiscard]] static Result<SupervisorClient> launch(const Order& order);
  /// To one that runs; not_found where nobody answers. `owner`: whose process must listen there; what another
  /// user wrote down as its socket may be anybody's.
  [[nodiscard]] static Result<SupervisorClient> connect(const std::filesystem::path& socket,
                                                        std::optional<uid_t> owner = {});

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// What has come, without waiting, and a few megabytes at a time: who never stops talking holds nobody up.
  /// Once the supervisor has gone, is_open() is false.
  [[nodiscard]] std::vector<job::Json> receive();
  /// Waits until something comes, it goes, or `patience` is over (without one: for ever).
  [[nodiscard]] std::vector<job::Json> wait_and_receive(
      std::optional<std::chrono::milliseconds> patience = std::nullopt);
  [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
  /// What cannot be sent is to one that has gone, which receive() tells. Never waits: who does not listen is
  /// left.
  void send(const job::Json& message, const std::vector<int>& descriptors = {});
  void send_signal(int signal);
  /// Waits for the end of one that this process started.
  void wait();
  /// Leaves it. Whether it has ended, too, where this process started it; to be asked again until it has.
  [[nodiscard]] bool leave();

 private:
  explicit SupervisorClient(FileDescriptor socket, pid_t pid = 0) : socket_(std::move(socket)), pid_(pid) {}
  FileDescriptor socket_;
  pid_t pid_ = 0;  // 0: not this process's child
  std::string input_;
  std::size_t longest_ = kLongestMessage;
};

/// A supervisor that runs, as its directory tells.
struct FoundSupervisor {
  std::filesystem::path socket;
  ProcessIdentity owner;
  std::vector<std::string> runs;
  std::vector<std::string> waiting;  ///< marks of jobs that waited for their turn, or still do
};
/// All of this user's on this machine.
[[nodiscard]] std::vector<FoundSupervisor> find_supervisors(const std::filesystem::path& base);

inline constexpr const char* kControlSocket = "control.sock";
/// The descriptor on which a supervisor finds its caller.
inline constexpr int kCallerDescriptor = 3;

}  // namespace plimsoll::running
