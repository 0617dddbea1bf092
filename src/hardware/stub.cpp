#include "base/embedded.hpp"
