// Errors as values. What a user can cause comes back as a Status; what only a programmer can cause is KILN_CHECK.
//
// Every message is one line in four parts, built by ErrorAt:
//   net.onnx: node 'conv_12' (ConvTranspose): output_padding [1,1] is not supported by vta; use [0,0] or
//   --host-fallback
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

// The one constructor of user-facing errors (code InvalidArgument).
//   file    the file at fault as the user named it, or "" where there is none
//   place   a node, key, line or flag: "node 'conv_12' (Conv)", "key 'array_rows'", "line 7"; "" where there is none
//   fault   what is wrong, with the offending value
//   remedy  what would be right; "" only where the fault itself says it
Status ErrorAt(std::string_view file, std::string_view place, std::string_view fault,
               std::string_view remedy);

// As ErrorAt, with code Unimplemented: right input that Kiln (or one family) does not run.
Status UnsupportedAt(std::string_view file, std::string_view place, std::string_view fault,
                     std::string_view remedy);

// As ErrorAt, with code NotFound: a file or a named thing that is not there.
Status NotFoundAt(std::string_view file, std::string_view place, std::string_view fault,
                  std::string_view remedy);

// Puts "context: " before the message of a failed status and keeps its code; an OK status passes through.
Status WithContext(std::string_view context, const Status& status);

// The message as text (std::string, because Debian's absl has a string_view type of its own).
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
