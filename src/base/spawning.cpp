#include "base/spawning.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>

extern char** environ;  // unistd.h has it only with _GNU_SOURCE

namespace plimsoll {

Result<Pipe> make_pipe(bool blocking_reads) {
  const auto cannot = [](int code) {
    return std::unexpected(
        Error{.message = fmt::format("cannot make a pipe: {}", std::generic_category().message(code)),
              .kind = Error::Kind::internal});
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot(errno);
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  for (FileDescriptor* end : {&pipe.read_end, &pipe.write_end}) {
    if (end->get() > STDERR_FILENO) continue;
    FileDescriptor moved(::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved) return cannot(errno);
    *end = std::move(moved);
  }
  if (!blocking_reads && ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK) != 0) return cannot(errno);
  return pipe;
}

std::vector<std::string> environment_with(std::span<const std::pair<std::string, std::string>> added) {
  const auto names = [](std::span<const std::pair<std::string, std::string>> variables,
                        std::string_view name) {
    return std::ranges::any_of(variables, [&](const auto& variable) { return variable.first == name; });
  };
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!names(added, variable.substr(0, variable.find('=')))) out.emplace_back(variable);
  }
  for (std::size_t i = 0; i < added.size(); ++i)
    if (!names(added.subspan(i + 1), added[i].first))
      out.push_back(fmt::format("{}={}", added[i].first, added[i].second));
  return out;
}

std::vector<char*> exec_pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace plimsoll
