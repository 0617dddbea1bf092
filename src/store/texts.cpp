#include "store/texts.hpp"

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kLongestValue = std::size_t{64} << 10;

}  // namespace

bool is_name(std::string_view text, std::size_t most) {
  constexpr std::size_t kLongestCharacter = 4;  // bytes
  return !text.empty() && text.size() <= most * kLongestCharacter &&
         first_characters(text, most).size() == text.size();
}

Status check_name(std::string_view what, std::string_view name, std::size_t longest) {
  if (is_name(name, longest)) return {};
  return fail("the name of a {} {} has {} bytes; 1 to {} characters are allowed", what, quote(name),
              name.size(), longest);
}

Status check_value(std::string_view what, std::string_view name, std::string_view value) {
  if (value.size() <= kLongestValue) return {};
  return fail("the value of {} {} has {} bytes; {} is the most", what, quote(name), value.size(),
              kLongestValue);
}

Status write_texts(Database& database, Literal insert, std::int64_t owner, std::string_view what,
                   const Texts& texts, std::size_t longest_name) {
  for (const auto& [name, value] : texts) {
    PLIMSOLL_TRY(check_name(what, name, longest_name));
    PLIMSOLL_TRY(check_value(what, name, value));
    PLIMSOLL_TRY(database.query(insert).bind(owner).bind(name).bind(value).run());
  }
  return {};
}

Status remove_texts(Database& database, Literal erase, std::int64_t owner, std::string_view what,
                    const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    Query query = database.query(erase);
    const Result<bool> row = query.bind(owner).bind(name).next();
    if (!row) return std::unexpected(row.error());
    if (!*row)
      return std::unexpected(
          Error{fmt::format("there is no {} {}", what, quote(name)), {}, {}, Error::Kind::not_found});
  }
  return {};
}

Query query_of(Database& database, Literal select, std::span<const std::int64_t> owners) {
  if (owners.size() == 1) {
    Query query = database.query(select);
    query.bind(owners.front());
    return query;
  }
  constexpr std::string_view kOne = "= ?";
  const std::size_t at = select.text.rfind(kOne);
  Query query = database.query_again(fmt::format("{}{}{}", select.text.substr(0, at), database.one_of(),
                                                 select.text.substr(at + kOne.size())));
  query.bind_integers(owners);
  return query;
}

}  // namespace plimsoll::store
