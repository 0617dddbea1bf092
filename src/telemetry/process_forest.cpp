#include "telemetry/process_forest.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

namespace plimsoll::telemetry {
namespace {

constexpr std::size_t kMostKept = 256;  // descriptors; a process may have 1024 in all
constexpr int kScansBetweenAll = 30;
constexpr std::size_t kMostEnded = 1 << 16;

}  // namespace

ProcessForest::ProcessForest(const std::filesystem::path& proc)
    : proc_(proc), directory_(::open(proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

std::string_view ProcessForest::text_of(pid_t pid, const char* name, ReadBuffer& buffer) const {
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "{}/{}", pid, name);
  return KeptFile(directory_.get(), path.data()).read(buffer);
}

std::optional<ProcessStat> ProcessForest::stat_of(pid_t pid, ReadBuffer& buffer) const {
  const auto stat = parse_process_stat(text_of(pid, "stat", buffer));
  return stat && stat->pid == pid ? stat : std::nullopt;
}

std::vector<pid_t> ProcessForest::list() const {
  std::vector<pid_t> out;
  DIR* folder = ::opendir(proc_.c_str());
  if (folder == nullptr) return out;
  while (const dirent* entry = ::readdir(folder))
    if (const auto pid = whole_number(entry->d_name); pid && *pid <= 0x7fffffffU)
      out.push_back(static_cast<pid_t>(*pid));
  ::closedir(folder);
  return out;
}

void ProcessForest::join(int run, const ProcessStat& stat, bool from_start) {
  if (const auto known = members_.find(stat.pid); known != members_.end()) {
    if (known->second.stat.start == stat.start) {
      known->second.run = run;
      return;
    }
    if (known->second.file.open()) --kept_;
    replaced_.push_back({std::move(known->second), false});
    members_.erase(known);
  }
  Member member{.run = run, .stat = stat, .before = stat, .from_start = from_start};
  if (kept_ < kMostKept) {
    std::array<char, 64> path{};
    fmt::format_to_n(path.data(), path.size() - 1, "{}/stat", stat.pid);
    member.file = KeptFile(directory_.get(), path.data());
    if (member.file.open()) ++kept_;
  }
  strangers_.erase(stat.pid);
  ended_.erase(stat.pid);
  members_.emplace(stat.pid, std::move(member));
}

void ProcessForest::plant(int run, pid_t root, bool from_start) {
  ReadBuffer buffer;
  if (const auto stat = stat_of(root, buffer)) join(run, *stat, from_start);
  if (from_start) new_runs_.push_back(run);
  strangers_.clear();  // children of the root may be among them
}

void ProcessForest::fell(int run) {
  for (auto it = members_.begin(); it != members_.end();) {
    if (it->second.run == run) {
      if (it->second.file.open()) --kept_;
      it = members_.erase(it);
    } else {
      ++it;
    }
  }
  std::erase_if(ended_, [run](const auto& ended) { return ended.second == run; });
}

void ProcessForest::close_unlisted(std::vector<pid_t> listed) {
  std::ranges::sort(listed);
  for (auto& [pid, member] : members_)
    if (member.file.open() && !std::ranges::binary_search(listed, pid)) {
      member.file = KeptFile();
      --kept_;
    }
}

void ProcessForest::scan(ReadBuffer& buffer) {
  const std::vector<pid_t> listed = list();
  listed_ = listed.size();
  if (--scans_until_all_ < 0) {
    strangers_.clear();
    scans_until_all_ = kScansBetweenAll;
  }
  if (members_.empty()) {
    strangers_ = {listed.begin(), listed.end()};
    new_runs_.clear();
    return;
  }
  close_unlisted(listed);
  std::unordered_map<pid_t, ProcessStat> unknown;
  std::unordered_set<pid_t> still_strangers;
  for (const pid_t pid : listed) {
    if (members_.contains(pid)) continue;
    if (strangers_.contains(pid)) {
      still_strangers.insert(pid);
    } else if (const auto stat = stat_of(pid, buffer)) {
      unknown.emplace(pid, *stat);
    }
  }
  strangers_ = std::move(still_strangers);
  for (const auto& [pid, stat] : unknown) {
    // Up through those that are new as well, until a member or nobody's process. A chain cannot be longer
    // than their number, however the parents are written.
    std::vector<pid_t> chain = {pid};
    auto at = unknown.find(stat.parent);
    while (at != unknown.end() && chain.size() <= unknown.size() && !members_.contains(at->first)) {
      if (strangers_.contains(at->first)) break;
      chain.push_back(at->first);
      at = unknown.find(at->second.parent);
    }
    const auto member = members_.find(unknown.at(chain.back()).parent);
    const std::optional<int> run =
        member == members_.end() ? std::nullopt : std::optional(member->second.run);
    const bool from_start = run && std::ranges::find(new_runs_, *run) != new_runs_.end();
    for (const pid_t found : chain) {
      if (!run) {
        strangers_.insert(found);
      } else if (!members_.contains(found)) {
        join(*run, unknown.at(found), from_start);
      }
    }
  }
  new_runs_.clear();
}

std::vector<ProcessForest::Gone> ProcessForest::read(ReadBuffer& buffer) {
  std::vector<Gone> gone = std::exchange(replaced_, {});
  // Parents before their children: a child that ends in between is then missed here and found in its parent's
  // time at the next reading. The other way round it would count twice, for good.
  std::vector<std::map<pid_t, Member>::iterator> in_order;
  for (auto it = members_.begin(); it != members_.end(); ++it) in_order.push_back(it);
  std::ranges::stable_sort(in_order, {}, [](const auto& it) { return it->second.stat.start; });
  for (const auto it : in_order) {
    Member& member = it->second;
    const auto stat =
        member.file.open() ? parse_process_stat(member.file.read(buffer)) : stat_of(it->first, buffer);
    if (stat && stat->start == member.stat.start) {
      member.before = std::exchange(member.stat, *stat);
      continue;
    }
    if (ended_.size() < kMostEnded) ended_[it->first] = member.run;
    if (member.file.open()) --kept_;
    gone.push_back({std::move(member), false});
    members_.erase(it);
  }
  for (Gone& ended : gone) {
    const auto parent = members_.find(ended.member.stat.parent);
    ended.parent_remains = parent != members_.end() && parent->second.run == ended.member.run;
  }
  return gone;
}

std::optional<int> ProcessForest::run_of(pid_t pid) const {
  if (const auto member = members_.find(pid); member != members_.end()) return member->second.run;
  if (const auto ended = ended_.find(pid); ended != ended_.end()) return ended->second;
  return std::nullopt;
}

bool ProcessForest::sees(pid_t pid) const {
  return members_.contains(pid) || ended_.contains(pid) || strangers_.contains(pid);
}

}  // namespace plimsoll::telemetry
