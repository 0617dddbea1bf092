#include "serve/mlflow/fault.hpp"

#include <array>

namespace plimsoll::serve::mlflow {
namespace {

struct Row {
  Code code;
  std::string_view name;
  int status;
};
// MLflow answers an invalid state with 500, which makes its clients try again for minutes; it is the
// request's fault, and 400 says so.
constexpr std::array kCodes = {
    Row{Code::invalid_parameter_value, "INVALID_PARAMETER_VALUE", 400},
    Row{Code::resource_does_not_exist, "RESOURCE_DOES_NOT_EXIST", 404},
    Row{Code::resource_already_exists, "RESOURCE_ALREADY_EXISTS", 400},
    Row{Code::endpoint_not_found, "ENDPOINT_NOT_FOUND", 404},
    Row{Code::invalid_state, "INVALID_STATE", 400},
    Row{Code::not_implemented, "NOT_IMPLEMENTED", 501},
    Row{Code::temporarily_unavailable, "TEMPORARILY_UNAVAILABLE", 503},
    Row{Code::internal_error, "INTERNAL_ERROR", 500},
};

const Row& row(Code code) {
  for (const Row& known : kCodes)
    if (known.code == code) return known;
  return kCodes.back();
}

Code code_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::bad_input: return Code::invalid_parameter_value;
    case Error::Kind::not_found: return Code::resource_does_not_exist;
    case Error::Kind::exists_already: return Code::resource_already_exists;
    case Error::Kind::machine_lacks:
    case Error::Kind::unavailable: return Code::temporarily_unavailable;
    case Error::Kind::internal: return Code::internal_error;
  }
  return Code::internal_error;
}

}  // namespace

std::string_view name(Code code) {
  return row(code).name;
}

int status(Code code) {
  return row(code).status;
}

Fault fault_of(const Error& error) {
  constexpr std::string_view kNoAttribute =
      "there is no attribute ";  // of a filter, which MLflow's tests look at
  if (error.message.starts_with(kNoAttribute))
    return {code_of(error.kind), fmt::format("Invalid attribute key {} specified. {}",
                                             error.message.substr(kNoAttribute.size()), error.text())};
  return {code_of(error.kind), error.text()};
}

Response response_of(const Fault& fault) {
  return error_response(status(fault.code), name(fault.code), fault.message);
}

}  // namespace plimsoll::serve::mlflow
