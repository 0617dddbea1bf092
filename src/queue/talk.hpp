#pragma once
#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/units.hpp"
#include "job/fields.hpp"
#include "run/interest.hpp"

namespace plimsoll::queue {

/// Nothing that a user says at once is longer: a hundred thousand jobs of half a kilobyte each, and their
/// environment.
inline constexpr std::size_t kLongestRequest = std::size_t{64} << 20;

/// Something that a client asks for, and who it is, as the kernel says.
struct Asked {
  std::int64_t client = 0;
  uid_t user = 0;
  gid_t group = 0;
  job::Json message = {};
};

/// The daemon's door: JSON objects, one a line, each with a `type`; each is answered by one. Never waits; one
/// who does not read his answers, or says too much, is left. What all clients of one user may hold of it is
/// bounded, so that no user keeps the others out.
class Door {
 public:
  /// Listens at `path`. `everybody`: all users of the machine may knock; else this user and root.
  [[nodiscard]] static Result<Door> open(const std::filesystem::path& path, bool everybody);

  void collect(running::Interests& interests);
  /// What has come since.
  [[nodiscard]] std::vector<Asked> take() { return std::exchange(asked_, {}); }
  void answer(std::int64_t number, const job::Json& message);
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    std::int64_t number = 0;
    uid_t user = 0;
    gid_t group = 0;
    FileDescriptor socket;
    std::string input = {}, output = {};
    bool gone = false;
  };
  Door(FileDescriptor listener, bool everybody) : listener_(std::move(listener)), everybody_(everybody) {}
  void accept_all();
  void receive(Client& client);
  static void send(Client& client);

  FileDescriptor listener_;
  bool everybody_;
  std::list<Client> clients_;
  std::int64_t last_ = 0;
  std::vector<Asked> asked_;
};

/// Asks a daemon one thing, and waits for its answer, as long as `patience` says. Nothing where nobody
/// listens.
[[nodiscard]] Result<std::optional<job::Json>> ask(const std::filesystem::path& socket,
                                                   const job::Json& message,
                                                   std::optional<Seconds> patience = {});

[[nodiscard]] job::Json failure_json(const Error& error);

}  // namespace plimsoll::queue
