#include "store/libpq.hpp"

#include "base/shared_library.hpp"

namespace plimsoll::store {
namespace {

Result<Libpq> load() {
  constexpr const char* kLibrary = "libpq.so.5";
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return std::unexpected(Error{"PostgreSQL's client library is missing", kLibrary,
                                 "Install libpq5 (Debian, Ubuntu) or libpq (others).",
                                 Error::Kind::machine_lacks});
  Libpq f;
  const bool whole =
      look_up(library, "PQconnectdbParams", f.connect_with) &&
      look_up(library, "PQconninfoParse", f.parse_address) &&
      look_up(library, "PQconninfoFree", f.free_address) && look_up(library, "PQfreemem", f.free_memory) &&
      look_up(library, "PQfinish", f.finish) && look_up(library, "PQreset", f.reset) &&
      look_up(library, "PQstatus", f.status) &&
      look_up(library, "PQtransactionStatus", f.transaction_status) &&
      look_up(library, "PQerrorMessage", f.error_message) &&
      look_up(library, "PQsetNoticeProcessor", f.set_notice_processor) &&
      look_up(library, "PQenterPipelineMode", f.enter_pipeline) &&
      look_up(library, "PQexitPipelineMode", f.exit_pipeline) &&
      look_up(library, "PQpipelineSync", f.synchronize) &&
      look_up(library, "PQsendFlushRequest", f.request_flush) &&
      look_up(library, "PQsendPrepare", f.send_prepare) &&
      look_up(library, "PQsendQueryPrepared", f.send_prepared) &&
      look_up(library, "PQsendQueryParams", f.send_query) && look_up(library, "PQgetResult", f.get_result) &&
      look_up(library, "PQexec", f.execute) && look_up(library, "PQresultStatus", f.result_status) &&
      look_up(library, "PQresultErrorField", f.error_field) &&
      look_up(library, "PQcmdStatus", f.command_status) && look_up(library, "PQclear", f.clear) &&
      look_up(library, "PQntuples", f.rows) && look_up(library, "PQnfields", f.columns) &&
      look_up(library, "PQftype", f.type) && look_up(library, "PQgetvalue", f.value) &&
      look_up(library, "PQgetlength", f.length) && look_up(library, "PQgetisnull", f.is_null);
  if (!whole)
    return std::unexpected(Error{"PostgreSQL's client library is too old", kLibrary,
                                 "Version 14 or later is needed.", Error::Kind::machine_lacks});
  return f;
}

}  // namespace

Result<const Libpq*> libpq() {
  // Never closed: connections may be open until the process ends.
  static const Result<Libpq> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace plimsoll::store
