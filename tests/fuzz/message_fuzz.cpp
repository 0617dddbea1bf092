// Any bytes, taken for the JSON of a request, for a batch of metrics, for a page's token and for an
// artifact's path, must be read or refused with a message. The quick reader of batches reads nothing that the
// other one reads differently, what is written is JSON again, and no path that is taken leads out of its
// folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "serve/artifact_tree.hpp"
#include "serve/mlflow/batch.hpp"
#include "serve/mlflow/json_writer.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/page_token.hpp"
#include "serve/mlflow/validation.hpp"

using namespace plimsoll;
using namespace plimsoll::serve::mlflow;

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void read_message(std::string_view text) {
  static constexpr Field kFields[] = {{"run_id"},
                                      {"value", Type::number},
                                      {"step", Type::integer},
                                      {"flag", Type::boolean},
                                      {"view_type", Type::choice},
                                      {"tags", Type::list},
                                      {"order_by", Type::texts}};
  const Outcome<Document> document = Document::parse(text, kFields);
  if (!document) return must(!document.error().message.empty());
  const Message message = document->message();
  must(!message.has("step") || message.integer("step").has_value());
  must(!message.has("value") || message.number("value").has_value());
  static_cast<void>(message.pairs("tags"));
  static_cast<void>(message.texts("order_by"));
}

void read_batches(std::string_view text) {
  const std::optional<LoggedBatch> quick = read_plain_batch(text);
  const Outcome<LoggedBatch> slow = read_batch(text);
  if (quick) must(slow && *slow == *quick);
  if (!slow) return must(!slow.error().message.empty());
  const Outcome<std::vector<store::Batch>> batches = batches_of(slow->run, slow->metrics, "metrics");
  std::size_t points = 0;
  if (batches)
    for (const store::Batch& batch : *batches) {
      points += batch.points.size();
      must(check_key(batch.metric, "name").has_value());
    }
  must(!batches || points == slow->metrics.size());
  static_cast<void>(change_of(*slow));
}

void write_again(std::string_view text) {
  JsonWriter out;
  const std::string written = out.begin_array().text(text).end_array().take();
  must(nlohmann::json::parse(written, nullptr, false).is_array());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a body holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_message(text);
  read_batches(text);
  write_again(text);
  if (const auto offset = offset_of(text); offset && !text.empty())
    must(offset_of(page_token(*offset)) == *offset);
  if (const auto path = serve::ArtifactPath::parse(text))
    for (const std::string& part : path->parts())
      must(!part.empty() && part != ".." && part.find('/') == part.npos);
  return 0;
}
