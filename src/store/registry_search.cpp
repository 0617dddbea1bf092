#include <algorithm>
#include <span>
#include <string>

#include "base/text.hpp"
#include "store/registry_rows.hpp"
#include "store/selection.hpp"

namespace plimsoll::store {
namespace {

/// Clients ask for models that are no prompts, which all are here; MLflow itself lets pass those without the
/// tag, as no other comparison would.
bool leaves_out_prompts(const Comparison& comparison) {
  if (comparison.field.kind != Field::Kind::tag || comparison.field.key != "mlflow.prompt.is_prompt")
    return false;
  if (comparison.values.size() != 1) return false;
  const auto* const value = std::get_if<std::string>(&comparison.values.front());
  if (value == nullptr) return false;
  return (comparison.comparator == Comparator::equal && lower_case(*value) == "false") ||
         (comparison.comparator == Comparator::not_equal && lower_case(*value) == "true");
}

Status check_orders(std::span<const std::string> orders, Subject subject) {
  std::vector<Field> seen;
  for (const std::string& text : orders) {
    const Result<Order> order = parse_order(text, subject);
    if (!order) return std::unexpected(order.error());
    if (order->field.kind != Field::Kind::attribute)
      return fail("the registry is ordered by attributes, not by tags");
    if (std::ranges::find(seen, order->field) != seen.end())
      return fail("`order_by` contains duplicate fields: {}", text);
    seen.push_back(order->field);
  }
  return {};
}

Result<std::vector<std::int64_t>> rows_found(Database& database, Subject subject,
                                             const RegistrySearch& search,
                                             std::span<const std::string> orders, std::string_view column) {
  Result<Filter> filter = parse_filter(search.filter, subject);
  if (!filter) return std::unexpected(std::move(filter).error());
  std::erase_if(*filter, leaves_out_prompts);
  PLIMSOLL_TRY(check_orders(orders, subject));
  Selection selection(subject);
  selection.matching(*filter);
  PLIMSOLL_TRY(selection.ordered_by(orders));
  return numbers_of(selection.page(database, column, search.limit, search.offset));
}

}  // namespace

Result<std::vector<RegisteredModel>> find_registered(Database& database, const RegistrySearch& search) {
  const Result<std::vector<std::int64_t>> numbers =
      rows_found(database, Subject::registered_models, search, search.order_by, "g.number");
  if (!numbers) return std::unexpected(numbers.error());
  return load_registered(database, *numbers);
}

Result<std::vector<ModelVersion>> find_versions(Database& database, const RegistrySearch& search) {
  static const std::vector<std::string> kUsualOrders = {"last_updated_timestamp DESC", "name ASC",
                                                        "version_number DESC"};
  const Result<std::vector<std::int64_t>> numbers =
      rows_found(database, Subject::model_versions, search,
                 search.order_by.empty() ? kUsualOrders : search.order_by, "v.number");
  if (!numbers) return std::unexpected(numbers.error());
  return load_versions(database, *numbers);
}

}  // namespace plimsoll::store
