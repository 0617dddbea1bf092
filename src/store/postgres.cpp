#include "store/postgres.hpp"

#include <algorithm>
#include <thread>
#include <tuple>
#include <utility>

#include "base/printable.hpp"
#include "store/location.hpp"
#include "store/postgres_statement.hpp"

namespace plimsoll::store {
namespace {

struct PostgresMeaning {
  std::string_view state;  ///< SQLSTATE, or how it begins
  Error::Kind kind;
  std::string_view message;
  std::string_view hint;
};

constexpr std::string_view kPostgresAgain = "Try again; what is in the store is safe.";
constexpr PostgresMeaning kPostgresMeanings[] = {
    {"53100", Error::Kind::unavailable, "the server's disk is full", "Make room there and try again."},
    {"53", Error::Kind::unavailable, "the server has too few resources", kPostgresAgain},
    {"40", Error::Kind::unavailable, "another writer was in the way", kPostgresAgain},
    {"55P03", Error::Kind::unavailable, "another writer keeps the run locked", kPostgresAgain},
    {"57P", Error::Kind::unavailable, "the server is going down or coming up", kPostgresAgain},
    {"57014", Error::Kind::unavailable, "the server has given the statement up", kPostgresAgain},
    {"08", Error::Kind::unavailable, "the connection to the server was lost", kPostgresAgain},
    {"28", Error::Kind::machine_lacks, "the server refuses this name and password",
     "Check them; the password may be in ~/.pgpass or PGPASSWORD instead of the address."},
    {"3D000", Error::Kind::bad_input, "the server has no such database", "Make it with `createdb NAME`."},
    {"42501", Error::Kind::machine_lacks, "the user may not do that in this database",
     "GRANT CREATE ON DATABASE lets the user make the schema plimsoll."},
    {"25006", Error::Kind::machine_lacks, "the database may only be read",
     "Name the server that takes writes."},
    {"54", Error::Kind::bad_input, "a text is too long for the store", ""},
};

void be_silent(void* /*unused*/, const char* /*message*/) {}

/// The first line of what libpq says, without its prefixes.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

PostgresDatabase::PostgresDatabase(const Libpq& library, std::string address, std::string name,
                                   std::chrono::milliseconds patience)
    : library_(library),
      address_(std::move(address)),
      name_(std::move(name)),
      patience_(patience),
      connection_(nullptr, {&library}) {}

PostgresDatabase::~PostgresDatabase() {
  forget_statements();
}

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(const std::string& address,
                                                                 std::chrono::milliseconds patience) {
  const Result<const Libpq*> library = libpq();
  if (!library) return std::unexpected(library.error());
  // What is wrong with an address is not shown as libpq says it: that may quote a part of the password.
  char* ignored = nullptr;
  PQconninfoOption* const parsed = (*library)->parse_address(address.c_str(), &ignored);
  if (ignored != nullptr) (*library)->free_memory(ignored);
  if (parsed == nullptr)
    return std::unexpected(Error{"this is not an address of a PostgreSQL database", masked(address),
                                 "postgresql://USER@HOST:PORT/DATABASE; special characters as %XX."});
  (*library)->free_address(parsed);
  std::unique_ptr<PostgresDatabase> database(
      new PostgresDatabase(**library, address, masked(address), patience));
  PLIMSOLL_TRY(database->connect());
  return database;
}

Status PostgresDatabase::connect() {
  // What the address says itself comes later and counts.
  // A server that no packet reaches any more is given up: what was sent after half a minute without a
  // receipt, an answer that does not come after a minute. One that is merely slow acknowledges packets, and
  // is waited for.
  const char* const names[] = {"connect_timeout",
                               "tcp_user_timeout",
                               "keepalives_idle",
                               "keepalives_interval",
                               "keepalives_count",
                               "application_name",
                               "dbname",
                               "client_encoding",
                               nullptr};
  const char* const values[] = {"10",       "30000",          "30",   "10",   "3",
                                "plimsoll", address_.c_str(), "UTF8", nullptr};
  connection_.reset(library_.connect_with(names, values, 1));
  lost_ = false;
  if (!connection_)
    return std::unexpected(Error{"there is not enough memory", name_, {}, Error::Kind::unavailable});
  if (is_lost())
    return std::unexpected(Error{fmt::format("the database cannot be reached: {}",
                                             first_line(library_.error_message(connection_.get()))),
                                 name_, "Is the server up, and are host, port, name and password right?",
                                 Error::Kind::unavailable});
  return configure();
}

Status PostgresDatabase::configure() {
  prepared_.clear();
  unanswered_.clear();
  unsynchronized_ = false;
  library_.set_notice_processor(connection_.get(), be_silent, nullptr);
  if (library_.enter_pipeline(connection_.get()) != 1) return std::unexpected(error(nullptr));
  // Durable whatever the server's default is; and a name means the same whoever logs in.
  return execute(
      fmt::format("SET search_path TO plimsoll; SET synchronous_commit TO on; SET lock_timeout TO {}; SET "
                  "extra_float_digits TO 3",
                  patience_.count()));
}

/// After the server went away: until it is back, as long as a caller would wait for a lock.
Status PostgresDatabase::connect_again() {
  const auto until = std::chrono::steady_clock::now() + patience_;
  auto pause = std::chrono::milliseconds(20);
  for (;;) {
    const Status connected = connect();
    if (connected || std::chrono::steady_clock::now() + pause >= until) return connected;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(500));
  }
}

Error PostgresDatabase::error(const PGresult* result) {
  const char* const field = result == nullptr ? nullptr : library_.error_field(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field == nullptr ? "" : field;
  // An error without a state is the client's own: it cannot talk to the server any more, though it may not
  // have noticed yet why.
  lost_ = lost_ || state.empty();
  repeatable_ = is_lost() || state.starts_with("40") || state.starts_with("57P");
  if (is_lost())
    return Error{"the connection to the server was lost", name_, std::string(kPostgresAgain),
                 Error::Kind::unavailable};
  for (const PostgresMeaning& m : kPostgresMeanings)
    if (state.starts_with(m.state)) return Error{std::string(m.message), name_, std::string(m.hint), m.kind};
  const char* const message = library_.error_field(result, PG_DIAG_MESSAGE_PRIMARY);
  return Error{fmt::format("PostgreSQL says: {} ({})", message == nullptr ? "" : message, state),
               name_,
               {},
               Error::Kind::internal};
}

Result<std::string> PostgresDatabase::prepared(const std::string& sql,
                                               const std::vector<PostgresValue>& values) {
  std::vector<Oid> types;
  std::string key = sql;
  for (const PostgresValue& value : values) {
    types.push_back(value.type);
    key += fmt::format(" {}", value.type);
  }
  const auto [place, fresh] = prepared_.try_emplace(std::move(key), fmt::format("p{}", prepared_.size()));
  if (fresh) {
    if (library_.send_prepare(connection_.get(), place->second.c_str(), sql.c_str(),
                              static_cast<int>(types.size()), types.data()) != 1)
      return std::unexpected(error(nullptr));
    unanswered_.push_back(nullptr);
    unsynchronized_ = true;
  }
  return place->second;
}

Status PostgresDatabase::send(const std::string& prepared, const std::string& sql,
                              const std::vector<PostgresValue>& values, PostgresStatement* receiver) {
  // Answers wait in buffers of both sides, which must not fill up.
  constexpr std::size_t kMostUnanswered = 256;
  if (unanswered_.size() >= kMostUnanswered) PLIMSOLL_TRY(answer());
  std::vector<Oid> types;
  std::vector<const char*> pointers;
  std::vector<int> lengths, formats;
  for (const PostgresValue& value : values) {
    types.push_back(value.type);
    pointers.push_back(value.null ? nullptr : value.bytes.data());
    lengths.push_back(static_cast<int>(value.bytes.size()));
    formats.push_back(1);
  }
  const int count = static_cast<int>(values.size());
  const int sent = prepared.empty()
                       ? library_.send_query(connection_.get(), sql.c_str(), count, types.data(),
                                             pointers.data(), lengths.data(), formats.data(), 1)
                       : library_.send_prepared(connection_.get(), prepared.c_str(), count, pointers.data(),
                                                lengths.data(), formats.data(), 1);
  if (sent != 1) return std::unexpected(error(nullptr));
  unanswered_.push_back(receiver);
  unsynchronized_ = true;
  return {};
}

void PostgresDatabase::forget(const PostgresStatement* receiver) {
  std::ranges::replace(unanswered_, receiver, nullptr);
}

/// Takes a result to whom it belongs.
void PostgresDatabase::deliver(PostgresResult result, Answer& answer) {
  const ExecStatusType status = library_.result_status(result.get());
  if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
    if (!answer.problem) answer.problem = error(result.get());
  } else if (status != PGRES_PIPELINE_ABORTED) {
    PostgresStatement* const receiver = unanswered_.empty() ? nullptr : unanswered_.front();
    if (receiver == nullptr)
      answer.unwanted = std::move(result);
    else
      receiver->receive(std::move(result));
  }
}

/// Reads what the server sends until `enough` says so of a result, or of the end of a statement's answer
/// (nullptr).
template <class Enough>
bool PostgresDatabase::read_until(Answer& answer, const Enough& enough) {
  for (int ends = 0; ends < 2;) {
    PostgresResult result(library_.get_result(connection_.get()), {&library_});
    const bool last = enough(result.get());
    if (result) {
      ends = 0;
      if (!last) deliver(std::move(result), answer);
    } else {
      // The end of one statement's answer; two in a row only where the connection is gone.
      ++ends;
      if (!unanswered_.empty()) unanswered_.pop_front();
    }
    if (last) return true;
  }
  return false;
}

Status PostgresDatabase::await(const PostgresStatement& receiver) {
  // All that is under way is sent by the server as soon as it has it, long answers piece by piece.
  if (library_.request_flush(connection_.get()) != 1) return std::unexpected(error(nullptr));
  Answer answer{{nullptr, {&library_}}};
  const bool read = read_until(answer, [&](const PGresult* result) {
    return result == nullptr && (answer.problem || receiver.has_rows());
  });
  if (read && !answer.problem) return {};
  forget_prepared_ = true;
  const Result<PostgresResult> rest = this->answer();
  if (answer.problem) return std::unexpected(std::move(*answer.problem));
  return rest ? fail("the server has given no answer") : std::unexpected(rest.error());
}

Result<PostgresResult> PostgresDatabase::answer() {
  Answer answer{{nullptr, {&library_}}};
  if (library_.synchronize(connection_.get()) != 1) return std::unexpected(error(nullptr));
  const bool read = read_until(answer, [&](const PGresult* result) {
    return result != nullptr && library_.result_status(result) == PGRES_PIPELINE_SYNC;
  });
  unanswered_.clear();
  unsynchronized_ = false;
  if (!read) return std::unexpected(answer.problem.value_or(error(nullptr)));
  if (!answer.problem) return std::move(answer.unwanted);
  // Nobody knows which statements were prepared among those that the server has skipped.
  forget_prepared_ = true;
  return std::unexpected(std::move(*answer.problem));
}

Status PostgresDatabase::execute(const std::string& sql) {
  if (unsynchronized_) PLIMSOLL_TRY(answer());
  library_.exit_pipeline(connection_.get());
  const PostgresResult result(library_.execute(connection_.get(), sql.c_str()), {&library_});
  const ExecStatusType status = library_.result_status(result.get());
  Status done;
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) done = std::unexpected(error(result.get()));
  library_.enter_pipeline(connection_.get());
  return done;
}

bool PostgresDatabase::in_transaction() const {
  return library_.transaction_status(connection_.get()) != PQTRANS_IDLE || unsynchronized_;
}

Result<std::int64_t> PostgresDatabase::clock() {
  // Of this moment, not of the transaction's begin, which may have waited since.
  Query query = this->query("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
  PLIMSOLL_TRY(query.row());
  return query.integer(0);
}

Result<std::unique_ptr<Statement>> PostgresDatabase::prepare(std::string_view sql, bool kept) {
  return std::make_unique<PostgresStatement>(*this, sql, kept);
}

Status PostgresDatabase::begin(bool writing) {
  if (is_lost()) PLIMSOLL_TRY(connect_again());
  repeatable_ = false;
  if (std::exchange(forget_prepared_, false)) {
    prepared_.clear();
    // By itself: after a query in the same pipeline no transaction may say how it is isolated.
    PLIMSOLL_TRY(execute("DEALLOCATE ALL"));
  }
  return writing ? query("BEGIN").run() : query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").run();
}

Status PostgresDatabase::commit() {
  // What fails before the commit is sent is undone; of what fails afterwards nobody knows.
  PLIMSOLL_TRY(query("COMMIT").run());
  const Result<PostgresResult> result = answer();
  if (!result) {
    if (is_lost()) repeatable_ = false;
    return std::unexpected(result.error());
  }
  if (std::string_view(library_.command_status(result->get())) != "COMMIT")
    return std::unexpected(Error{"the server has not kept the changes", name_, std::string(kPostgresAgain),
                                 Error::Kind::unavailable});
  return {};
}

void PostgresDatabase::roll_back() {
  if (is_lost()) return;
  const bool repeatable = repeatable_;
  if (unsynchronized_) std::ignore = answer();
  if (!is_lost() && in_transaction()) {
    if (query("ROLLBACK").run()) std::ignore = answer();
  }
  repeatable_ = repeatable;
}

}  // namespace plimsoll::store
