#pragma once
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "store/postgres.hpp"

namespace plimsoll::store::test {

/// A PostgreSQL server of the test's own: in a temporary directory, on a Unix socket, gone with the test.
class PostgresServer {
 public:
  /// The server of this process, started on the first call; nothing where PostgreSQL is not installed.
  static PostgresServer* shared() {
    static const std::unique_ptr<PostgresServer> server = make();
    return server.get();
  }

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer() {
    if (::getpid() == owner_) stop(SIGINT);
  }

  [[nodiscard]] std::string address() const {
    return "postgresql:///postgres?user=plimsoll&host=" + directory_->path().string();
  }

  /// With its socket.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_->path(); }

  /// Without a store, as new.
  [[nodiscard]] Status clear() const {
    const Result<std::unique_ptr<PostgresDatabase>> database =
        PostgresDatabase::open(address(), std::chrono::seconds(10));
    if (!database) return std::unexpected(database.error());
    return (*database)->execute("DROP SCHEMA IF EXISTS plimsoll CASCADE");
  }

  /// SIGQUIT: at once, as in a crash; what was committed is recovered when it starts again.
  void stop(int signal) {
    if (process_ <= 0) return;
    ::kill(process_, signal);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

  bool start() {
    process_ = spawn({(programs_ / "postgres").string(), "-D", data().string(), "-k",
                      directory_->path().string(), "-c", "listen_addresses=", "-c", "fsync=off", "-c",
                      "max_connections=50", "-c", "shared_buffers=64MB"});
    for (int i = 0; i < 6000; ++i) {
      if (PostgresDatabase::open(address(), std::chrono::seconds(10))) return true;
      if (::waitpid(process_, nullptr, WNOHANG) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

 private:
  PostgresServer() = default;

  static std::unique_ptr<PostgresServer> make() {
    std::unique_ptr<PostgresServer> server(new PostgresServer);
    server->programs_ = find_programs();
    if (server->programs_.empty() || !server->directory_) return nullptr;
    // The server refuses to be root's.
    if (::geteuid() == 0) {
      const passwd* user = ::getpwnam("postgres");
      if (user == nullptr) user = ::getpwnam("nobody");
      if (user == nullptr || ::chown(server->directory_->path().c_str(), user->pw_uid, user->pw_gid) != 0)
        return nullptr;
      server->user_ = user->pw_uid;
      server->group_ = user->pw_gid;
    }
    const pid_t made =
        server->spawn({(server->programs_ / "initdb").string(), "-D", server->data().string(), "-A", "trust",
                       "-U", "plimsoll", "-E", "UTF8", "--locale=C", "--no-sync"});
    int status = 1;
    if (::waitpid(made, &status, 0) != made || status != 0 || !server->start()) return nullptr;
    return server;
  }

  static std::filesystem::path find_programs() {
    std::vector<std::filesystem::path> places;
    const char* const path = std::getenv("PATH");
    std::string rest = path == nullptr ? "" : path;
    for (std::size_t end = 0; !rest.empty(); rest.erase(0, end + 1)) {
      end = std::min(rest.find(':'), rest.size());
      places.emplace_back(rest.substr(0, end));
      if (end == rest.size()) break;
    }
    std::error_code ignored;
    // Installed, or unpacked by scripts/bootstrap.
    for (const std::filesystem::path& root : {std::filesystem::path("/"), unpacked()})
      for (const auto& version : std::filesystem::directory_iterator(root / "usr/lib/postgresql", ignored))
        places.push_back(version.path() / "bin");
    for (const auto& place : places)
      if (std::filesystem::exists(place / "initdb", ignored) &&
          std::filesystem::exists(place / "postgres", ignored))
        return place;
    return {};
  }

  static std::filesystem::path unpacked() {
    return std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "build/unpacked";
  }

  /// Where the libraries of an unpacked server are; nothing for one that is installed.
  [[nodiscard]] std::string libraries() const {
    std::string out;
    if (!programs_.string().starts_with(unpacked().string())) return out;
    std::error_code ignored;
    for (const char* place : {"usr/lib", "lib"})
      for (const auto& entry : std::filesystem::directory_iterator(unpacked() / place, ignored))
        if (entry.path().filename().string().find("-linux-gnu") != std::string::npos)
          out += (out.empty() ? "" : ":") + entry.path().string();
    return out;
  }

  [[nodiscard]] pid_t spawn(const std::vector<std::string>& command) const {
    const std::string its_libraries = libraries();
    const pid_t process = ::fork();
    if (process != 0) return process;
    if (!its_libraries.empty()) ::setenv("LD_LIBRARY_PATH", its_libraries.c_str(), 1);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (user_ != 0 && (::setgid(group_) != 0 || ::setuid(user_) != 0)) ::_exit(126);
    // A change of user takes the wish back.
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    const int silent = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) ::dup2(silent, stream);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    if (::chdir("/") == 0) ::execv(words[0], words.data());
    ::_exit(127);
  }

  [[nodiscard]] std::filesystem::path data() const { return directory_->path() / "data"; }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("store-server");
  std::filesystem::path programs_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t process_ = -1;
  pid_t owner_ = ::getpid();
};

}  // namespace plimsoll::store::test
