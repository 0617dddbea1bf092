#include "completion_words.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "hardware/carbon.hpp"
#include "hardware/catalogue.hpp"
#include "network/zoo/zoo.hpp"
#include "queue_client.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

using Words = std::vector<std::string>;

/// Where a command line that is being written has come to.
struct Place {
  const CommandLine* command;
  std::size_t arguments = 0;                  ///< that stand already, of the command
  const CommandLineOption* option = nullptr;  ///< whose value comes next
  std::string store = {};                     ///< of --store
  bool foreign = false;                       ///< after "--": another program's
};

const CommandLineOption* option_named(const CommandLine* command, std::string_view name) {
  for (; command != nullptr; command = command->parent())
    for (const CommandLineOption* option : command->options())
      for (const std::string& known : option->names())
        if (known == name) return option;
  return nullptr;
}

const CommandLine* command_named(const CommandLine& command, std::string_view name) {
  for (const CommandLine* under : command.subcommands())
    if (under->name() == name && !under->hidden()) return under;
  return nullptr;
}

Place follow(const CommandLine& program, const Words& before) {
  Place at{.command = &program};
  for (const std::string& word : before) {
    const auto* const option = std::exchange(at.option, nullptr);
    if (option != nullptr) {
      if (option->name() == "--store") at.store = word;
    } else if (word == "--") {
      at.foreign = true;
    } else if (word.starts_with('-')) {
      const auto equals = word.find('=');
      const CommandLineOption* named = option_named(at.command, word.substr(0, equals));
      if (named != nullptr && named->takes_value() && equals == word.npos) at.option = named;
      if (named != nullptr && named->name() == "--store" && equals != word.npos)
        at.store = word.substr(equals + 1);
    } else if (const CommandLine* under = command_named(*at.command, word); under && at.arguments == 0) {
      at.command = under;
    } else {
      ++at.arguments;
    }
  }
  return at;
}

/// The n-th argument of a command; its last takes all that follow.
const CommandLineOption* argument(const CommandLine& command, std::size_t n) {
  const CommandLineOption* last = nullptr;
  for (const CommandLineOption* option : command.options())
    if (option->names().empty()) {
      last = option;
      if (n-- == 0) return option;
    }
  return last != nullptr && last->takes_many() ? last : nullptr;
}

Words models(const std::string& begun) {
  Words out;
  for (const network::zoo::Entry& entry : network::zoo::entries()) out.emplace_back(entry.name);
  const auto slash = begun.rfind('/');
  const std::string folder = slash == begun.npos ? "" : begun.substr(0, slash + 1);
  std::error_code problem;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, problem), end;
       !problem && at != end; at.increment(problem)) {
    const std::string name = folder + at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored))
      out.push_back(name + "/");
    else if (name.ends_with(".onnx") || name.ends_with(".py"))
      out.push_back(name);
  }
  return out;
}

Words devices() {
  Words out = {"this", "cpu"};
  if (const auto& catalogue = hardware::built_in_catalogue(); catalogue)
    for (const hardware::Device& device : catalogue->devices()) out.push_back(device.id);
  return out;
}

Words countries() {
  Words out;
  if (const auto& carbon = hardware::built_in_carbon(); carbon)
    for (const hardware::Grid& grid : carbon->grids) out.push_back(grid.iso);
  return out;
}

/// The store that a person means; nothing where opening it may take long.
std::unique_ptr<store::Store> store_at(std::string location) {
  constexpr std::chrono::milliseconds kPatience(100);  // somebody waits with a finger on a key
  const char* const variable = std::getenv("PLIMSOLL_STORE");
  if (location.empty() && variable != nullptr) location = variable;
  if (location.starts_with("postgres")) return {};  // a server may be far, or not there
  auto store = store::open(location, {.create = false, .busy_timeout = kPatience});
  return store ? std::move(*store) : nullptr;
}

Words runs(const std::string& location) {
  constexpr std::size_t kMost = 200;
  const auto store = store_at(location);
  if (!store) return {};
  Words out = {"last"};
  if (const auto found = store->search({.limit = kMost}); found)
    for (const store::Run& run : *found) out.push_back(run.id);
  return out;
}

/// Names of registered models; after "NAME/" its versions, after "NAME@" its aliases.
Words registered(const std::string& location, const std::string& begun) {
  constexpr std::size_t kMost = 200;
  const auto store = store_at(location);
  if (!store) return {};
  Words out;
  if (const auto found = store->registry().search({.limit = kMost}); found)
    for (const store::RegisteredModel& model : *found) out.push_back(model.name);
  const std::size_t end = begun.find_last_of("/@");
  if (end == begun.npos) return out;
  const std::string model = begun.substr(0, end), head = begun.substr(0, end + 1);
  const auto whole = store->registry().model(model);
  if (!whole) return out;
  if (begun[end] == '@')
    for (const auto& [alias, version] : whole->aliases) out.push_back(head + alias);
  else
    for (std::int64_t version = whole->last_version; version > 0 && out.size() < kMost * 2; --version)
      if (store->registry().version(model, version)) out.push_back(fmt::format("{}{}", head, version));
  return out;
}

/// Numbers of the queue's jobs that wait or run.
Words queued() {
  Words out;
  const auto answer = ask_queue({{"type", "list"}, {"quick", true}}, Seconds(1));
  if (!answer) return out;
  for (const job::Json& job : (*answer)["jobs"])
    out.push_back(fmt::format("{}", job.value("number", std::int64_t{0})));
  return out;
}

/// "RUN" of "[RUN]", "RUN…" and "RUN …".
std::string_view bare(std::string_view text) {
  const auto begin = text.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (begin == text.npos) return {};
  text.remove_prefix(begin);
  return text.substr(0, text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
}

Words values(const CommandLineOption& option, const Place& at, const std::string& begun) {
  if (!option.words().empty()) return option.words();
  const std::string text = option.text();
  const std::string_view kind = bare(text);
  if (kind == "MODEL") return models(begun);
  if (kind == "DEVICE") return devices();
  if (kind == "RUN") return runs(at.store);
  if (kind == "REGISTERED") return registered(at.store, begun);
  if (kind == "JOB") return queued();
  if (kind == "COUNTRY") return countries();
  return {};
}

}  // namespace

std::vector<std::string> complete(const CommandLine& program, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& current = words.back();
  Place at = follow(program, {words.begin(), words.end() - 1});
  if (at.foreign) return {};
  Words candidates;
  std::string head;  // what stands already before the part that is completed
  const auto equals = current.find('=');
  if (at.option == nullptr && current.starts_with("--") && equals != current.npos) {
    at.option = option_named(at.command, current.substr(0, equals));
    if (at.option == nullptr) return {};
    head = current.substr(0, equals + 1);
  }
  const CommandLineOption* of = at.option;
  if (of == nullptr && current.starts_with('-')) {
    for (const CommandLine* command = at.command; command != nullptr; command = command->parent())
      for (const std::string& name : command->long_names()) candidates.push_back("--" + name);
  } else if (of == nullptr) {
    if (at.arguments == 0)
      for (const CommandLine* under : at.command->subcommands())
        if (!under->hidden()) candidates.push_back(under->name());
    of = argument(*at.command, at.arguments);
  }
  if (of != nullptr) {
    const auto comma = current.rfind(',');
    if (of->takes_list() && comma != current.npos && comma + 1 > head.size())
      head = current.substr(0, comma + 1);
    for (const std::string& value : values(*of, at, current.substr(head.size())))
      candidates.push_back(head + value);
  }
  std::erase_if(candidates, [&](const std::string& word) { return !word.starts_with(current); });
  std::ranges::sort(candidates);
  candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
  return candidates;
}

}  // namespace plimsoll
