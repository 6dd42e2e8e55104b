// ---- Norms --------------------------------------------------------------------------------------

// Root mean square; `parts` of it are fused: the weights, then something to add.
template <typename T4, short parts>
kernel void rms_norm(device const T4 *from, device const float4 *weight, device const float4 *more,
                     device float4 *to, constant args_rows &args,
                     threadgroup float *shared [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     ushort t [[thread_position_in_threadgroup]],
                     ushort lane [[thread_index_in_simdgroup]],
                     ushort simd [[simdgroup_index_in_threadgroup]],
                     ushort simds [[simdgroups_per_threadgroup]],
                     ushort size [[threads_per_threadgroup]])
{
    const int fours = args.count / 4;
    device const T4 *x = from + ulong(row) * fours;
    float sum = 0.0f;
    for (int i = t; i < fours; i += size)
        sum += dot(float4(x[i]), float4(x[i]));
    sum = over_group(sum, 0.0f, shared, lane, simd, simds, total());
    const float scale = 1.0f / sqrt(sum / args.count + args.eps);
    for (int i = t; i < fours; i += size) {
        float4 y = float4(x[i]) * scale;
        if constexpr (parts > 1)
            y *= weight[i];
        if constexpr (parts > 2)
            y += more[ulong(row) * fours + i];
        to[ulong(row) * fours + i] = y;
    }
}
typedef decltype(rms_norm<float4, 1>) rms_norm_type;
template [[host_name("rms_norm")]] kernel rms_norm_type rms_norm<float4, 1>;
template [[host_name("rms_norm_mul")]] kernel rms_norm_type rms_norm<float4, 2>;
template [[host_name("rms_norm_mul_add")]] kernel rms_norm_type rms_norm<float4, 3>;
template [[host_name("rms_norm_mul_f16")]] kernel decltype(rms_norm<half4, 2>) rms_norm<half4, 2>;

kernel void layer_norm(device const float *from, device float *to, constant args_rows &args,
                       threadgroup float *shared [[threadgroup(0)]],
                       uint row [[threadgroup_position_in_grid]],
                       ushort t [[thread_position_in_threadgroup]],
                       ushort lane [[thread_index_in_simdgroup]],
                       ushort simd [[simdgroup_index_in_threadgroup]],
                       ushort simds [[simdgroups_per_threadgroup]],
                       ushort size [[threads_per_threadgroup]])
{
    device const float *x = from + ulong(row) * args.count;
    device float *y = to + ulong(row) * args.count;
    float sum = 0.0f;
    for (int i = t; i < args.count; i += size)
        sum += x[i];
    const float mean = over_group(sum, 0.0f, shared, lane, simd, simds, total()) / args.count;
    sum = 0.0f;
    for (int i = t; i < args.count; i += size) {
        y[i] = x[i] - mean;
        sum += SQUARE(y[i]);
    }
    const float variance = over_group(sum, 0.0f, shared, lane, simd, simds, total()) / args.count;
    const float scale = rsqrt(variance + args.eps);
    for (int i = t; i < args.count; i += size)
        y[i] *= scale;
}

kernel void l2_norm(device const float *from, device float *to, constant args_rows &args,
                    uint row [[threadgroup_position_in_grid]],
                    ushort lane [[thread_index_in_simdgroup]])
{
    device const float *x = from + ulong(row) * args.count;
    float sum = 0.0f;
    for (int i = lane; i < args.count; i += SIMD_LANES)
        sum += x[i] * x[i];
    const float scale = 1.0f / max(sqrt(simd_sum(sum)), args.eps);
    for (int i = lane; i < args.count; i += SIMD_LANES)
        to[ulong(row) * args.count + i] = x[i] * scale;
}

// ---- Sorting ------------------------------------------------------------------------------------

enum sort_order { ascending, descending };

template <sort_order order>
static bool goes_before(float a, int ia, float b, int ib)
{
    return order == ascending ? a < b || (a == b && ia < ib) : a > b || (a == b && ia < ib);
}

// Bitonic: places of a row padded to a power of two, in threadgroup memory.
template <sort_order order>
kernel void arg_sort(device const float *from, device int *to, constant args_sort &args,
                     threadgroup int *places [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     ushort t [[thread_position_in_threadgroup]])
{
    device const float *x = from + ulong(row) * args.count;
    places[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k = 2; k <= args.padded; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            const int other = t ^ j;
            if (other > t) {
                const int one = places[t], two = places[other];
                const bool up = (t & k) == 0;
                const bool one_out = one >= args.count, two_out = two >= args.count;
                const bool swap = one_out || two_out
                                      ? (up ? one_out && !two_out : two_out && !one_out)
                                      : (up ? goes_before<order>(x[two], two, x[one], one)
                                            : goes_before<order>(x[one], one, x[two], two));
                if (swap) {
                    places[t] = two;
                    places[other] = one;
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    if (t < args.top)
        to[row * args.top + t] = places[t];
}
typedef decltype(arg_sort<ascending>) arg_sort_type;
template [[host_name("arg_sort_asc")]] kernel arg_sort_type arg_sort<ascending>;
template [[host_name("arg_sort_desc")]] kernel arg_sort_type arg_sort<descending>;

// The largest one again and again, by one simdgroup.
kernel void top_k(device const float *from, device int *to, constant args_sort &args,
                  uint row [[threadgroup_position_in_grid]],
                  ushort lane [[thread_index_in_simdgroup]])
{
    device const float *x = from + ulong(row) * args.count;
    float last = INFINITY;
    int last_place = -1;
    for (int n = 0; n < args.top; ++n) {
        float best = -INFINITY;
        int place = args.count;
        for (int i = lane; i < args.count; i += SIMD_LANES) {
            const bool is_left = x[i] < last || (x[i] == last && i > last_place);
            if (is_left && (x[i] > best || (x[i] == best && i < place))) {
                best = x[i];
                place = i;
            }
        }
        for (ushort delta = 16; delta > 0; delta /= 2) {
            const float other = simd_shuffle_xor(best, delta);
            const int other_place = simd_shuffle_xor(place, delta);
            if (other > best || (other == best && other_place < place)) {
                best = other;
                place = other_place;
            }
        }
        last = best;
        last_place = place;
        if (lane == 0)
            to[row * args.top + n] = place;
    }
}

// ---- Sums ---------------------------------------------------------------------------------------

template <bool mean>
kernel void sum_rows(device const float *from, device float *to, constant args_rows &args,
                     threadgroup float *shared [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     ushort t [[thread_position_in_threadgroup]],
                     ushort lane [[thread_index_in_simdgroup]],
                     ushort simd [[simdgroup_index_in_threadgroup]],
                     ushort simds [[simdgroups_per_threadgroup]],
                     ushort size [[threads_per_threadgroup]])
{
    float sum = 0;
    for (int i = t; i < args.count; i += size)
        sum += from[ulong(row) * args.count + i];
    sum = over_group(sum, 0.0f, shared, lane, simd, simds, total());
    if (t == 0)
        to[row] = mean ? sum / args.count : sum;
}
template [[host_name("sum_rows")]] kernel decltype(sum_rows<false>) sum_rows<false>;
template [[host_name("mean_rows")]] kernel decltype(sum_rows<true>) sum_rows<true>;

// A running sum: lanes, then simdgroups, then what came before.
kernel void cumulative_sum(device const float *from, device float *to, constant args_rows &args,
                           threadgroup float *shared [[threadgroup(0)]],
                           uint row [[threadgroup_position_in_grid]],
                           ushort t [[thread_position_in_threadgroup]],
                           ushort lane [[thread_index_in_simdgroup]],
                           ushort simd [[simdgroup_index_in_threadgroup]],
                           ushort simds [[simdgroups_per_threadgroup]],
                           ushort size [[threads_per_threadgroup]])
{
    float before = 0.0f;
    for (int at = 0; at < args.count; at += size) {
        const int i = at + t;
        const float x = i < args.count ? from[ulong(row) * args.count + i] : 0.0f;
        const float inclusive = simd_prefix_inclusive_sum(x);
        if (lane == SIMD_LANES - 1)
            shared[simd] = inclusive;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float offset = before;
        for (ushort s = 0; s < simds; ++s) {
            offset += s < simd ? shared[s] : 0.0f;
            before += shared[s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < args.count)
            to[ulong(row) * args.count + i] = offset + inclusive;
    }
}

// Where a row's largest number is; of equal ones the first.
kernel void arg_max(device const float *from, device int *to, constant args_rows &args,
                    threadgroup float *shared [[threadgroup(0)]],
                    threadgroup int *shared_places [[threadgroup(1)]],
                    uint row [[threadgroup_position_in_grid]],
                    ushort t [[thread_position_in_threadgroup]],
                    ushort lane [[thread_index_in_simdgroup]],
                    ushort simd [[simdgroup_index_in_threadgroup]],
                    ushort simds [[simdgroups_per_threadgroup]],
                    ushort size [[threads_per_threadgroup]])
{
    device const float *x = from + ulong(row) * args.count;
    float best = -INFINITY;
    int place = INT_MAX;
    for (int i = t; i < args.count; i += size)
        if (x[i] > best) {
            best = x[i];
            place = i;
        }
    float top = simd_max(best);
    int first = simd_min(best == top ? place : INT_MAX);
    if (simds > 1) {
        if (lane == 0) {
            shared[simd] = top;
            shared_places[simd] = first;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const bool is_one = lane < simds;
        best = is_one ? shared[lane] : -INFINITY;
        top = simd_max(best);
        first = simd_min(is_one && best == top ? shared_places[lane] : INT_MAX);
    }
    if (t == 0)
        to[row] = first;
}

kernel void count_equal(device const int *a, device const int *b, device atomic_uint *count,
                        constant args_rows &args, uint i [[thread_position_in_grid]])
{
    const bool same = int(i) < args.count && a[i] == b[i];
    const uint here = popcount(uint((simd_vote::vote_t)simd_ballot(same)));
    if (simd_is_first())
        atomic_fetch_add_explicit(count, here, memory_order_relaxed);
}

// ---- Element by element -------------------------------------------------------------------------

namespace functions
{
template <typename T> struct relu {
    static T apply(T x) { return fmax(0, x); }
};
template <typename T> struct silu {
    static T apply(T x) { return x / (1 + exp(-x)); }
};
template <typename T> struct gelu {
    static T apply(T x)
    {
        return 0.5 * x * (1 + precise::tanh(0.79788456080286535588 * x * (1 + 0.044715 * x * x)));
    }
};
template <typename T> struct hard_swish {
    static T apply(T x) { return x * fmax(0, fmin(1, x / 6 + 0.5)); }
};
} // namespace functions

// Which function is known when the pipeline is made.
template <typename T>
kernel void unary(device const T *from, device T *to, constant args_rows &args,
                  uint i [[thread_position_in_grid]])
{
    if (int(i) >= args.count)
        return;
    const float x = from[i];
    float y = x;
    switch (operation) {
    case 0: y = x < 0 ? slope * x : x; break;
    case 1: y = functions::relu<float>::apply(x); break;
    case 2: y = functions::silu<float>::apply(x); break;
    case 3: y = functions::gelu<float>::apply(x); break;
    case 4: y = functions::hard_swish<float>::apply(x); break;
    case 5: y = sign(x) * log(1 + abs(x)); break;
    default: y = clamp(x, -args.scale, args.scale); break;
    }
    to[i] = T(y);
}
template [[host_name("unary_f32")]] kernel decltype(unary<float>) unary<float>;
template [[host_name("unary_f16")]] kernel decltype(unary<half>) unary<half>;
template [[host_name("unary_bf16")]] kernel decltype(unary<bfloat>) unary<bfloat>;

struct op_add {
    template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct op_mul {
    template <typename T> T operator()(T a, T b) const { return a * b; }
};
struct op_gated {
    template <typename T> T operator()(T a, T b) const { return functions::silu<T>::apply(a) * b; }
};

// The second one's rows are repeated.
template <typename Op>
kernel void binary(device const float4 *a, device const float4 *b, device float4 *to,
                   constant args_rows &args, uint2 at [[thread_position_in_grid]])
{
    const int fours = args.count / 4;
    if (int(at.x) >= fours || int(at.y) >= args.rows)
        return;
    const uint i = at.y * fours + at.x;
    to[i] = Op()(a[i], b[(at.y % args.extra) * fours + at.x]);
}
#define BINARY(op)                                                                                 \
    template [[host_name("binary_" #op)]] kernel decltype(binary<op_##op>) binary<op_##op>;
BINARY(add)
BINARY(mul)
BINARY(gated)
#undef BINARY

// ---- Images -------------------------------------------------------------------------------------

template <typename T>
kernel void image_to_columns(device const float *from, device T *to, constant args_image &args,
                             uint3 at [[thread_position_in_grid]])
{
    const int x = at.x % args.out_width, y = at.x / args.out_width, channel = at.y;
    if (y >= args.out_height)
        return;
    for (int ky = 0; ky < args.kernel_height; ++ky)
        for (int kx = 0; kx < args.kernel_width; ++kx) {
            const int ix = x * args.stride + kx * args.dilation - args.padding;
            const int iy = y * args.stride + ky * args.dilation - args.padding;
            const bool inside = ix >= 0 && ix < args.width && iy >= 0 && iy < args.height;
            to[((ulong(at.x) * args.channels + channel) * args.kernel_height + ky) *
                   args.kernel_width + kx] =
                inside ? T(from[(ulong(channel) * args.height + iy) * args.width + ix]) : 0;
        }
}
template [[host_name("image_to_columns_f32")]] kernel decltype(image_to_columns<float>)
    image_to_columns<float>;
template [[host_name("image_to_columns_f16")]] kernel decltype(image_to_columns<half>)
    image_to_columns<half>;
template [[host_name("image_to_columns_bf16")]] kernel decltype(image_to_columns<bfloat>)
    image_to_columns<bfloat>;

kernel void pool(device const float *from, device float *to, constant args_image &args,
                 uint3 at [[thread_position_in_grid]])
{
    if (int(at.x) >= args.out_width || int(at.y) >= args.out_height)
        return;
    float best = -INFINITY, sum = 0;
    int count = 0;
    for (int ky = 0; ky < args.kernel_height; ++ky)
        for (int kx = 0; kx < args.kernel_width; ++kx) {
            const int ix = at.x * args.stride + kx - args.padding;
            const int iy = at.y * args.stride + ky - args.padding;
            if (ix < 0 || ix >= args.width || iy < 0 || iy >= args.height)
                continue;
            const float x = from[(ulong(at.z) * args.height + iy) * args.width + ix];
            best = fmax(best, x);
            sum += x;
            count++;
        }
    to[(ulong(at.z) * args.out_height + at.y) * args.out_width + at.x] =
        pool_kind == 0 ? best : sum / max(count, 1);
}

// ---- States that go from token to token ---------------------------------------------------------

// A group per sequence, a thread per channel: all threads need all of a token's keys.
kernel void linear_scan(device const float *keys, device const float *values,
                        device const float *decay, device const float *before, device float *to,
                        constant args_rows &args, uint sequence [[threadgroup_position_in_grid]],
                        ushort t [[thread_position_in_threadgroup]])
{
    constexpr int size = 32;
    threadgroup float k[size], d[size];
    float state[size];
    for (int i = 0; i < size; ++i)
        state[i] = before[(ulong(sequence) * size + i) * size + t];
    for (int token = 0; token < args.count; ++token) {
        const ulong at = (ulong(sequence) * args.count + token) * size;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        k[t] = keys[at + t];
        d[t] = decay[at + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const float v = values[at + t];
        float4 y = 0.0f;
        for (int j = 0; j < size; j += 4) {
            const float4 k4 = float4(k[j], k[j + 1], k[j + 2], k[j + 3]);
            float4 s = float4(state[j], state[j + 1], state[j + 2], state[j + 3]);
            s = s * float4(d[j], d[j + 1], d[j + 2], d[j + 3]) + k4 * v;
            y += s;
            for (int n = 0; n < 4; ++n)
                state[j + n] = s[n];
        }
        to[at + t] = y.x + y.y + y.z + y.w;
    }
}
