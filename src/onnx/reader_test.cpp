#include "onnx/reader.hpp"
#include <gtest/gtest.h>
