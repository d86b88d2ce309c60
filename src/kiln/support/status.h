// Errors as values. An error that a user can cause is returned as a Status; a condition that only a
// programming error can violate is a KILN_CHECK (check.h).
//
// Every message is one line of up to four parts (file, place, fault, remedy), composed by ErrorAt:
//   net.onnx: node 'conv_12' (ConvTranspose): output_padding [1,1] is not supported; use [0,0]
// A message has less than 2 KB; what it quotes from files is cut by the functions of excerpt.h.
#ifndef KILN_SUPPORT_STATUS_H_
#define KILN_SUPPORT_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln {

using absl::Status;
using absl::StatusCode;
using absl::StatusOr;

inline Status OkStatus() { return absl::OkStatus(); }

// Returns an error with code InvalidArgument. All errors about user input are made by this function
// or by the two below.
//   file    the file at fault as the user named it, or "" if no file is involved
//   place   the location in the file: "node 'conv_12' (Conv)", "key 'array_rows'", "line 7", or a
//           command-line flag; "" if there is none
//   fault   what is wrong, with the offending value
//   remedy  what would be right; "" only if the fault already implies it
Status ErrorAt(std::string_view file, std::string_view place, std::string_view fault,
               std::string_view remedy);

// As ErrorAt, with code Unimplemented: valid input that Kiln, or one accelerator family, cannot
// run.
Status UnsupportedAt(std::string_view file, std::string_view place, std::string_view fault,
                     std::string_view remedy);

// As ErrorAt, with code NotFound: a file or named object that does not exist.
Status NotFoundAt(std::string_view file, std::string_view place, std::string_view fault,
                  std::string_view remedy);

// Returns `status` with "context: " before its message and the same code. Returns an OK status
// unchanged.
Status WithContext(std::string_view context, const Status& status);

// Returns the message as std::string, because Debian's absl has its own string_view type.
std::string MessageOf(const Status& status);

}  // namespace kiln

#define KILN_CONCAT_INNER_(a, b) a##b
#define KILN_CONCAT_(a, b) KILN_CONCAT_INNER_(a, b)

// Returns from the enclosing function when `expr`, a Status, is an error.
#define KILN_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                 \
    if (::kiln::Status kiln_status_ = (expr); !kiln_status_.ok()) return kiln_status_; \
  } while (false)

// KILN_ASSIGN_OR_RETURN(auto x, F()): binds the value of a StatusOr, or returns its error.
#define KILN_ASSIGN_OR_RETURN(lhs, expr) \
  KILN_ASSIGN_OR_RETURN_IMPL_(KILN_CONCAT_(kiln_statusor_, __LINE__), lhs, expr)
#define KILN_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                \
  if (!statusor.ok()) return statusor.status();          \
  lhs = std::move(statusor).value()

#endif  // KILN_SUPPORT_STATUS_H_
