#include "store/postgres_statement.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "store/postgres_text.hpp"

namespace plimsoll::store {
namespace {

// Of pg_type.dat; these never change.
constexpr Oid kBoolean = 16, kBytes = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kFloat4 = 700,
              kFloat8 = 701, kInt8Array = 1016;

/// Most significant byte first, as PostgreSQL sends numbers.
void add_number(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

std::string network_order(std::uint64_t value) {
  std::string out;
  add_number(out, value, 8);
  return out;
}

std::uint64_t number_from(std::string_view bytes) {
  std::uint64_t out = 0;
  for (const char c : bytes) out = out << 8U | static_cast<unsigned char>(c);
  return out;
}

}  // namespace

std::string numbered(std::string_view sql) {
  std::string out;
  int count = 0;
  char quote = '\0';
  for (const char c : sql) {
    if (quote == '\0' && c == '?') {
      out += fmt::format("${}", ++count);
      continue;
    }
    if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = '\0';
    out += c;
  }
  return out;
}

PostgresStatement::PostgresStatement(PostgresDatabase& database, std::string_view sql, bool kept)
    : database_(database), sql_(numbered(sql)), kept_(kept), result_(nullptr, {&database.library_}) {}

PostgresStatement::~PostgresStatement() {
  if (started_ && !result_) database_.forget(this);
}

void PostgresStatement::bind_null() {
  values_.push_back({.type = kInt8, .null = true});
}

void PostgresStatement::bind(std::int64_t value) {
  values_.push_back({.type = kInt8, .bytes = network_order(std::bit_cast<std::uint64_t>(value))});
}

void PostgresStatement::bind(double value) {
  // As in SQLite, which knows no NaN: a comparison with it is never true, and it is last in every order.
  const bool nan = std::isnan(value);
  values_.push_back(
      {.type = kFloat8, .null = nan, .bytes = nan ? "" : network_order(std::bit_cast<std::uint64_t>(value))});
}

void PostgresStatement::bind_text(std::string_view value) {
  values_.push_back({.type = kText, .bytes = fits_postgres(value) ? std::string(value) : to_postgres(value)});
}

void PostgresStatement::bind_blob(std::string_view bytes) {
  values_.push_back({.type = kBytes, .bytes = std::string(bytes)});
}

void PostgresStatement::bind_integers(std::span<const std::int64_t> values) {
  std::string array;
  array.reserve(20 + 12 * values.size());
  // Dimensions, no nulls, the elements' type; of the one dimension its length and first index.
  for (const std::uint64_t head : {std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{kInt8},
                                   std::uint64_t{values.size()}, std::uint64_t{1}})
    add_number(array, head, 4);
  for (const std::int64_t value : values) {
    add_number(array, 8, 4);
    add_number(array, std::bit_cast<std::uint64_t>(value), 8);
  }
  values_.push_back({.type = kInt8Array, .bytes = std::move(array)});
}

Status PostgresStatement::send(PostgresStatement* receiver) {
  std::string name;
  if (kept_) {
    Result<std::string> prepared = database_.prepared(sql_, values_);
    if (!prepared) return std::unexpected(std::move(prepared).error());
    name = std::move(*prepared);
  }
  return database_.send(name, sql_, values_, receiver);
}

Status PostgresStatement::run() {
  return send(nullptr);
}

Status PostgresStatement::start() {
  started_ = true;
  return send(this);
}

Result<bool> PostgresStatement::next() {
  if (row_ < 0) {
    if (!started_) PLIMSOLL_TRY(start());
    if (!result_) PLIMSOLL_TRY(database_.await(*this));
  }
  return ++row_ < database_.library_.rows(result_.get());
}

bool PostgresStatement::is_null(int column) const {
  return database_.library_.is_null(result_.get(), row_, column) != 0;
}

std::string_view PostgresStatement::blob(int column) const {
  const int length = database_.library_.length(result_.get(), row_, column);
  if (length <= 0) return {};
  return {database_.library_.value(result_.get(), row_, column), static_cast<std::size_t>(length)};
}

std::int64_t PostgresStatement::integer(int column) const {
  const std::string_view bytes = blob(column);
  const std::uint64_t value = number_from(bytes.substr(0, 8));
  switch (database_.library_.type(result_.get(), column)) {
    case kInt8: return std::bit_cast<std::int64_t>(value);
    case kInt4: return static_cast<std::int32_t>(value);
    case kInt2: return static_cast<std::int16_t>(value);
    case kBoolean: return static_cast<std::int64_t>(value);
    default: return 0;
  }
}

double PostgresStatement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  const Oid type = database_.library_.type(result_.get(), column);
  const std::uint64_t value = number_from(blob(column).substr(0, 8));
  if (type == kFloat8) return std::bit_cast<double>(value);
  if (type == kFloat4) return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  return static_cast<double>(integer(column));
}

std::string PostgresStatement::text(int column) const {
  const std::string_view bytes = blob(column);
  return bytes.find("\xF4\x8F") == std::string_view::npos ? std::string(bytes) : from_postgres(bytes);
}

void PostgresStatement::reset() {
  if (started_ && !result_) database_.forget(this);
  started_ = false;
  values_.clear();
  result_.reset();
  row_ = -1;
}

}  // namespace plimsoll::store
