#pragma once
#include <libpq-fe.h>

#include "base/error.hpp"

namespace plimsoll::store {

/// PostgreSQL's client library as far as Plimsoll uses it. It is opened at run time, by who names a server:
/// the program needs it nowhere else, and brings none of the libraries that it needs in turn.
struct Libpq {
  decltype(&::PQconnectdbParams) connect_with = nullptr;
  decltype(&::PQconninfoParse) parse_address = nullptr;
  decltype(&::PQconninfoFree) free_address = nullptr;
  decltype(&::PQfreemem) free_memory = nullptr;
  decltype(&::PQfinish) finish = nullptr;
  decltype(&::PQreset) reset = nullptr;
  decltype(&::PQstatus) status = nullptr;
  decltype(&::PQtransactionStatus) transaction_status = nullptr;
  decltype(&::PQerrorMessage) error_message = nullptr;
  decltype(&::PQsetNoticeProcessor) set_notice_processor = nullptr;
  decltype(&::PQenterPipelineMode) enter_pipeline = nullptr;
  decltype(&::PQexitPipelineMode) exit_pipeline = nullptr;
  decltype(&::PQpipelineSync) synchronize = nullptr;
  decltype(&::PQsendFlushRequest) request_flush = nullptr;
  decltype(&::PQsendPrepare) send_prepare = nullptr;
  decltype(&::PQsendQueryPrepared) send_prepared = nullptr;
  decltype(&::PQsendQueryParams) send_query = nullptr;
  decltype(&::PQgetResult) get_result = nullptr;
  decltype(&::PQexec) execute = nullptr;
  decltype(&::PQresultStatus) result_status = nullptr;
  decltype(&::PQresultErrorField) error_field = nullptr;
  decltype(&::PQcmdStatus) command_status = nullptr;
  decltype(&::PQclear) clear = nullptr;
  decltype(&::PQntuples) rows = nullptr;
  decltype(&::PQnfields) columns = nullptr;
  decltype(&::PQftype) type = nullptr;
  decltype(&::PQgetvalue) value = nullptr;
  decltype(&::PQgetlength) length = nullptr;
  decltype(&::PQgetisnull) is_null = nullptr;
};

/// Opened on the first call; an error where it is not installed or too old (below 14).
[[nodiscard]] Result<const Libpq*> libpq();

}  // namespace plimsoll::store
