// What a store of one thread does: the form in which evaluations and simulations state it.
#ifndef KILN_TARGETS_CGRA_GRAPH_STORE_RECORD_H_
#define KILN_TARGETS_CGRA_GRAPH_STORE_RECORD_H_

#include <cstdint>
#include <vector>

namespace kiln::cgra {

struct StoreRecord {
  int node = 0, thread = 0;
  std::vector<int32_t> address, value;  // by lane; the value is 0 where a predicate prevents it
  std::vector<bool> stored;             // by lane: whether no predicate prevents it
  friend bool operator==(const StoreRecord&, const StoreRecord&) = default;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_STORE_RECORD_H_
