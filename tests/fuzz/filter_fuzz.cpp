// Any text, taken for a filter and, after a newline, for orders, must search a store (its runs, experiments
// and models) or give one Error that blames the text; never a statement that SQLite refuses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/files.hpp"
#include "store/store.hpp"

namespace {

using namespace plimsoll;

/// Two runs in a file that goes with the process.
store::Store& two_runs() {
  static const Result<TemporaryDirectory> directory = TemporaryDirectory::make("filter-fuzz");
  if (!directory) std::abort();
  static const auto opened = store::open((directory->path() / "fuzz.db").string());
  static const bool filled = [] {
    if (!opened) std::abort();
    const auto id = (*opened)->create({.params = {{"lr", "0.1"}}, .tags = {{"model", "resnet50"}}});
    const bool other = (*opened)->create({.experiment = "other"}).has_value();
    const store::Batch batch{id.value_or(""), "loss", {}, {{1, 2, 0.5}}};
    const store::Input input{{"mnist", "d1"}, {{"mlflow.data.context", "train"}}};
    if (!(*opened)->add_inputs(id.value_or(""), {&input, 1}) || !(*opened)->create_model({.name = "net"}))
      return false;
    return other && (*opened)->append({&batch, 1}).has_value();
  }();
  if (!filled) std::abort();
  return **opened;
}

template <class Found>
void check(const Found& found) {
  constexpr std::size_t kMost = 2;
  if (found ? found->size() > kMost
            : found.error().kind != Error::Kind::bad_input || found.error().message.empty())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a filter holds
  // characters
  const std::string text(reinterpret_cast<const char*>(data), size);
  store::Search search;
  std::size_t at = text.find('\n');
  search.filter = text.substr(0, at);
  while (at != std::string::npos) {
    const std::size_t end = text.find('\n', at + 1);
    search.order_by.push_back(text.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  check(two_runs().search(search));
  check(two_runs().search_experiments({.filter = search.filter, .order_by = search.order_by}));
  check(two_runs().search_models({.filter = search.filter, .order_by = search.order_by}));
  return 0;
}
