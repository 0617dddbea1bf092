#include "serve/mlflow/views.hpp"

#include "serve/mlflow/page_token.hpp"

namespace plimsoll::serve::mlflow {

Outcome<store::View> view_of(const Message& message, std::string_view field) {
  static constexpr std::pair<std::string_view, std::int64_t> kViews[] = {
      {"ACTIVE_ONLY", 1}, {"DELETED_ONLY", 2}, {"ALL", 3}};
  PLIMSOLL_TAKE(view, message.choice(field, kViews));
  switch (view.value_or(1)) {
    case 2: return store::View::deleted;
    case 3: return store::View::all;
    default: return store::View::active;
  }
}

Outcome<Paging> paging_of(const Message& message, std::size_t usual, std::size_t most) {
  const std::int64_t wanted = message.integer("max_results").value_or(static_cast<std::int64_t>(usual));
  if (wanted < 1 || wanted > static_cast<std::int64_t>(most))
    return std::unexpected(Fault{Code::invalid_parameter_value,
                                 invalid_value("max_results", fmt::format("{}", wanted),
                                               wanted < 1 ? std::string("It must be a positive integer")
                                                          : fmt::format("It must be at most {}", most))});
  PLIMSOLL_TAKE(offset, offset_of(message.text("page_token")));
  return Paging{static_cast<std::size_t>(wanted), offset};
}

}  // namespace plimsoll::serve::mlflow
