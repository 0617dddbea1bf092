#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.hpp"
#include "telemetry/kept_file.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::telemetry {

/// A process of a watched run.
struct Member {
  int run = 0;
  ProcessStat stat = {};    ///< as last read
  ProcessStat before = {};  ///< as read before that; when it was found, where `fresh`
  bool fresh = true;        ///< not accounted for yet
  bool from_start = false;  ///< was there when the watching began: what it did before is not the run's
  ProcessIo io = {};
  KeptFile file = {};
};

/// Which processes belong to which run: the trees under the roots. A process stays with its run until it
/// ends, also where its parent ended before. What is not below a root is looked at once and then only counted
/// off.
class ProcessForest {
 public:
  explicit ProcessForest(const std::filesystem::path& proc);

  /// `from_start`: what the tree did until now is not the run's.
  void plant(int run, pid_t root, bool from_start);
  void fell(int run);
  /// Finds new members and those that are gone, by listing every process.
  void scan(ReadBuffer& buffer);
  /// Reads what the members do; those that are gone come back and are no members any more.
  struct Gone {
    Member member;
    bool parent_remains;  ///< a member waited for it, and counts its time as its children's
  };
  [[nodiscard]] std::vector<Gone> read(ReadBuffer& buffer);

  [[nodiscard]] std::map<pid_t, Member>& members() { return members_; }
  /// The run of a process, or of one that ended since forget_ended().
  [[nodiscard]] std::optional<int> run_of(pid_t pid) const;
  void forget_ended() { ended_.clear(); }
  [[nodiscard]] std::size_t listed() const { return listed_; }  ///< processes, at the last scan
  [[nodiscard]] bool sees(pid_t pid) const;  ///< a process of this machine, as far as the last scan saw
  /// The text of /proc/PID/NAME, empty where it may not be read.
  [[nodiscard]] std::string_view text_of(pid_t pid, const char* name, ReadBuffer& buffer) const;

 private:
  [[nodiscard]] std::vector<pid_t> list() const;
  [[nodiscard]] std::optional<ProcessStat> stat_of(pid_t pid, ReadBuffer& buffer) const;
  void close_unlisted(std::vector<pid_t> listed);
  void join(int run, const ProcessStat& stat, bool from_start);

  std::filesystem::path proc_;
  FileDescriptor directory_;
  std::map<pid_t, Member> members_;
  std::unordered_map<pid_t, int> ended_;
  std::unordered_set<pid_t> strangers_;
  std::vector<int> new_runs_;   ///< planted since the last scan, from their start
  std::vector<Gone> replaced_;  ///< whose number another process got
  std::size_t listed_ = 0;
  int scans_until_all_ = 0;  ///< until strangers are looked at again, in case a number was given anew
  std::size_t kept_ = 0;     ///< descriptors held open
};

}  // namespace plimsoll::telemetry
