#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "run/process_identity.hpp"

namespace plimsoll::running {

inline constexpr const char* kInitial = "pid:[4026531836]";

/// A machine, as far as processes are told apart by it.
class FakeRoot {
 public:
  FakeRoot(std::string_view machine, std::string_view boot, const char* pid_space) {
    const std::filesystem::path proc = path() / "proc";
    for (const std::filesystem::path& folder : {proc / "sys/kernel/random", proc / "self/ns", path() / "etc"})
      std::filesystem::create_directories(folder);
    if (!machine.empty()) put("etc/machine-id", fmt::format("{:0>32}\n", machine));
    put("proc/sys/kernel/random/boot_id", fmt::format("{}\n", boot));
    std::filesystem::create_symlink(pid_space, proc / "self/ns/pid");
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_->path(); }
  void put(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories((path() / file).parent_path());
    ASSERT_TRUE(write_file(path() / file, text));
  }
  void process(pid_t pid, std::uint64_t start) {
    put(fmt::format("proc/{}/stat", pid),
        fmt::format("{0} (a) S 1 {0} {0} 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {1} 1 2 3\n", pid, start));
  }
  /// A supervisor that was noted here, and has since ended.
  [[nodiscard]] ProcessIdentity noted() const { return {7, 100, ProcessSpace::here(path())}; }

 private:
  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
};

}  // namespace plimsoll::running
