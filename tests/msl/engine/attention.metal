// ---- Softmax of rows ----------------------------------------------------------------------------

// What all threads of the group have, combined: simdgroups first, then their results.
template <typename T, typename Combine>
static T over_group(T value, T neutral, threadgroup T *shared, ushort lane, ushort simd,
                    ushort simds, Combine combine)
{
    value = combine(value);
    if (simds > 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (simd == 0)
            shared[lane] = neutral;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0)
            shared[simd] = value;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value = combine(shared[lane]);
    }
    return value;
}

struct largest {
    template <typename T> T operator()(T x) const { return simd_max(x); }
};
struct total {
    template <typename T> T operator()(T x) const { return simd_sum(x); }
};

// Positions far away count less: one slope per head.
static float head_slope(float base, int head)
{
    return base > 0.0f ? pow(base, float(head + 1)) : 1.0f;
}

template <typename T>
kernel void soft_max(device const float *from, device const T *mask, device float *to,
                     constant args_attention &args, threadgroup float *shared [[threadgroup(0)]],
                     uint3 group [[threadgroup_position_in_grid]],
                     ushort3 thread_at [[thread_position_in_threadgroup]],
                     ushort lane [[thread_index_in_simdgroup]],
                     ushort simd [[simdgroup_index_in_threadgroup]],
                     ushort simds [[simdgroups_per_threadgroup]],
                     ushort3 size [[threads_per_threadgroup]])
{
    const int query = group.x, head = group.y;
    device const float *row = from + (ulong(head) * args.queries + query) * args.keys;
    device float *out = to + (ulong(head) * args.queries + query) * args.keys;
    device const T *mask_row = args.has_mask ? mask + ulong(query) * args.keys : nullptr;
    const float slope_here = head_slope(args.slope_base, head);
    float top = -INFINITY;
    for (int i = thread_at.x; i < args.keys; i += size.x)
        top = max(top, row[i] * args.scale + (mask_row ? slope_here * float(mask_row[i]) : 0.0f));
    top = over_group(top, -INFINITY, shared, lane, simd, simds, largest());
    float sum = 0.0f;
    for (int i = thread_at.x; i < args.keys; i += size.x) {
        const float e =
            exp(row[i] * args.scale + (mask_row ? slope_here * float(mask_row[i]) : 0.0f) - top);
        sum += e;
        out[i] = e;
    }
    threadgroup_barrier(mem_flags::mem_none);
    sum = over_group(sum, 0.0f, shared, lane, simd, simds, total());
    const float inverse = 1.0f / sum;
    for (int i = thread_at.x; i < args.keys; i += size.x)
        out[i] *= inverse;
}
typedef decltype(soft_max<float>) soft_max_type;
template [[host_name("soft_max_f32")]] kernel soft_max_type soft_max<float>;
template [[host_name("soft_max_f16")]] kernel decltype(soft_max<half>) soft_max<half>;
template [[host_name("soft_max_bf16")]] kernel decltype(soft_max<bfloat>) soft_max<bfloat>;

// ---- Attention for one query: simdgroups share the keys -----------------------------------------

// D numbers per head; a lane has D / 32 of them. Each simdgroup keeps its own maximum and sum; the
// results of all are merged at the end.
template <typename K, short D, short simds>
[[kernel, max_total_threads_per_threadgroup(simds * SIMD_LANES)]] void
attend_vec(constant args_attention &args [[buffer(0)]], device const float *q [[buffer(1)]],
           device const K *keys [[buffer(2)]], device const K *values [[buffer(3)]],
           device const half *mask [[buffer(4)]], device float *out [[buffer(5)]],
           uint3 group [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]],
           ushort simd [[simdgroup_index_in_threadgroup]])
{
    constexpr short per_lane = D / SIMD_LANES;
    static_assert(D % SIMD_LANES == 0, "whole lanes");
    threadgroup float tops[simds];
    threadgroup float sums[simds];
    threadgroup float parts[simds * D];

    const int query = group.x, head = group.y;
    const int key_head = head / (args.heads / args.key_heads);
    const float slope_here = head_slope(args.slope_base, head);
    float own[per_lane], acc[per_lane];
    UNROLLED for (short i = 0; i < per_lane; ++i)
    {
        own[i] = q[(ulong(head) * args.queries + query) * D + i * SIMD_LANES + lane] * args.scale;
        acc[i] = 0.0f;
    }
    float top = -FLT_MAX / 2, sum = 0.0f;
    for (int k = simd; k < args.keys; k += simds) {
        const ulong at = (ulong(key_head) * args.keys + k) * D + lane;
        float bias = 0.0f;
        if (args.has_mask) {
            bias = slope_here * float(mask[ulong(query) * args.keys + k]);
            if (bias == -INFINITY)
                continue;
        }
        float score = 0.0f;
        UNROLLED for (short i = 0; i < per_lane; ++i)
            score += own[i] * float(keys[at + i * SIMD_LANES]);
        score = simd_sum(score);
        if (args.cap > 0.0f)
            score = args.cap * precise::tanh(score / args.cap);
        score += bias;
        const float next = max(top, score);
        const float keep = exp(top - next), weight = exp(score - next);
        top = next;
        sum = sum * keep + weight;
        UNROLLED for (short i = 0; i < per_lane; ++i)
            acc[i] = acc[i] * keep + weight * float(values[at + i * SIMD_LANES]);
    }
    if (lane == 0) {
        tops[simd] = top;
        sums[simd] = sum;
    }
    UNROLLED for (short i = 0; i < per_lane; ++i)
        parts[simd * D + i * SIMD_LANES + lane] = acc[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);

    if (simd != 0)
        return;
    float best = tops[0];
    for (short s = 1; s < simds; ++s)
        best = max(best, tops[s]);
    float all = 0.0f;
    for (short s = 0; s < simds; ++s)
        all += sums[s] * exp(tops[s] - best);
    for (short i = lane; i < D; i += SIMD_LANES) {
        float value = 0.0f;
        for (short s = 0; s < simds; ++s)
            value += parts[s * D + i] * exp(tops[s] - best);
        out[(ulong(head) * args.queries + query) * D + i] = all > 0.0f ? value / all : 0.0f;
    }
}
#define ATTEND_VEC(name, T, D)                                                                     \
    template [[host_name("attend_vec_" #name "_" #D)]] kernel decltype(attend_vec<T, D, 4>)        \
        attend_vec<T, D, 4>;
ATTEND_VEC(f32, float, 64)
ATTEND_VEC(f16, half, 32)
ATTEND_VEC(f16, half, 64)
ATTEND_VEC(f16, half, 128)
ATTEND_VEC(bf16, bfloat, 64)
#undef ATTEND_VEC

// ---- Attention for eight queries: tiles of keys -------------------------------------------------

struct flash_traits_half {
    typedef half number;
    typedef half4 four;
    typedef simdgroup_half8x8 tile;
};
struct flash_traits_float {
    typedef float number;
    typedef float4 four;
    typedef simdgroup_float8x8 tile;
};
struct flash_traits_bfloat {
    typedef bfloat number;
    typedef bfloat4 four;
    typedef simdgroup_bfloat8x8 tile;
};

// Q rows of queries, C keys at a time; four simdgroups take eight keys, then D / 4 numbers each.
template <typename traits, short D, short Q = 8, short C = 32>
[[kernel, max_total_threads_per_threadgroup(128)]] void
attend_tile(constant args_attention &args [[buffer(0)]], device const float *q [[buffer(1)]],
            device const typename traits::number *keys [[buffer(2)]],
            device const typename traits::number *values [[buffer(3)]],
            device const half *mask [[buffer(4)]], device float *out [[buffer(5)]],
            uint3 group [[threadgroup_position_in_grid]],
            ushort t [[thread_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]],
            ushort simd [[simdgroup_index_in_threadgroup]])
{
    typedef typename traits::number number;
    typedef typename traits::tile tile;
    threadgroup number sq[Q * D];
    threadgroup number sk[C * D];
    threadgroup float scores[Q * C];
    threadgroup number weights[Q * C];
    threadgroup float so[Q * D];
    threadgroup float tops[Q], sums[Q], keeps[Q];

    const int first = group.x * Q, head = group.y;
    const int key_head = head / (args.heads / args.key_heads);
    const float slope_here = head_slope(args.slope_base, head);
    for (short i = t; i < Q * D; i += 128) {
        const int query = first + i / D;
        sq[i] = query < args.queries
                    ? number(q[(ulong(head) * args.queries + query) * D + i % D] * args.scale)
                    : 0;
        so[i] = 0;
    }
    if (t < Q) {
        tops[t] = -FLT_MAX / 2;
        sums[t] = 0.0f;
    }
    for (int at = 0; at < args.keys; at += C) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (short i = t; i < C * D / 4; i += 128) {
            const int key = at + i / (D / 4);
            ((threadgroup typename traits::four *)sk)[i] =
                key < args.keys ? ((device const typename traits::four *)(
                                      keys + (ulong(key_head) * args.keys + key) * D))[i % (D / 4)]
                                : 0;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        {
            simdgroup_float8x8 score = make_filled_simdgroup_matrix<float, 8>(0.f);
            UNROLLED for (short d = 0; d < D / 8; ++d)
            {
                tile a, b;
                simdgroup_load(a, sq + 8 * d, D);
                simdgroup_load(b, sk + 8 * simd * D + 8 * d, D, 0, true);
                simdgroup_multiply_accumulate(score, a, b, score);
            }
            simdgroup_store(score, scores + 8 * simd, C);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        // Two rows per simdgroup, a key per lane.
        for (short r = simd * 2; r < simd * 2 + 2; ++r) {
            const int query = first + r, key = at + lane;
            float s = scores[r * C + lane];
            if (args.cap > 0.0f)
                s = args.cap * precise::tanh(s / args.cap);
            if (args.has_mask && query < args.queries && key < args.keys)
                s += slope_here * float(mask[ulong(query) * args.keys + key]);
            if (key >= args.keys)
                s = -INFINITY;
            const float before = tops[r];
            const float top = simd_max(max(before, s));
            const float keep = exp(before - top), weight = exp(s - top);
            const float sum = simd_sum(weight);
            weights[r * C + lane] = number(weight);
            if (lane == 0) {
                tops[r] = top;
                sums[r] = sums[r] * keep + sum;
                keeps[r] = keep;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        // The values take the place of the keys; what was summed before counts less.
        for (short i = t; i < C * D / 4; i += 128) {
            const int key = at + i / (D / 4);
            ((threadgroup typename traits::four *)sk)[i] =
                key < args.keys ? ((device const typename traits::four *)(
                                      values + (ulong(key_head) * args.keys + key) * D))[i % (D / 4)]
                                : 0;
        }
        for (short i = t; i < Q * D; i += 128)
            so[i] *= keeps[i / D];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (short d = simd; d < D / 8; d += 4) {
            simdgroup_float8x8 sum;
            simdgroup_load(sum, so + 8 * d, D);
            UNROLLED for (short c = 0; c < C / 8; ++c)
            {
                tile a, b;
                simdgroup_load(a, weights + 8 * c, C);
                simdgroup_load(b, sk + 8 * c * D + 8 * d, D);
                simdgroup_multiply_accumulate(sum, a, b, sum);
            }
            simdgroup_store(sum, so + 8 * d, D);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (short i = t; i < Q * D; i += 128) {
        const int query = first + i / D;
        if (query < args.queries)
            out[(ulong(head) * args.queries + query) * D + i % D] =
                sums[i / D] > 0.0f ? so[i] / sums[i / D] : 0.0f;
    }
}
typedef decltype(attend_tile<flash_traits_half, 64>) attend_tile_type;
template [[host_name("attend_tile_f16_64")]] kernel attend_tile_type
    attend_tile<flash_traits_half, 64>;
template [[host_name("attend_tile_f16_32")]] kernel decltype(attend_tile<flash_traits_half, 32>)
    attend_tile<flash_traits_half, 32>;
template [[host_name("attend_tile_f32_32")]] kernel decltype(attend_tile<flash_traits_float, 32>)
    attend_tile<flash_traits_float, 32>;
template [[host_name("attend_tile_bf16_32")]] kernel decltype(attend_tile<flash_traits_bfloat, 32>)
    attend_tile<flash_traits_bfloat, 32>;

// ---- Positions as rotations ---------------------------------------------------------------------

static float rope_ramp(const float low, const float high, const int i)
{
    const float y = (i / 2 - low) / max(0.001f, high - low);
    return 1.0f - min(1.0f, max(0.0f, y));
}

// Between interpolated and extrapolated angles.
static void rope_angle(float theta, constant args_rope &args, int i, thread float *cosine,
                       thread float *sine)
{
    const float inter = args.freq_scale * theta;
    float angle = inter, strength = args.attn_factor;
    if (args.ext_factor != 0.0f) {
        const float ramp = rope_ramp(args.corr_low, args.corr_high, i) * args.ext_factor;
        angle = inter * (1 - ramp) + theta * ramp;
        strength *= 1.0f + 0.1f * log(1.0f / args.freq_scale);
    }
    *cosine = cos(angle) * strength;
    *sine = sin(angle) * strength;
}

template <typename T>
kernel void rope(constant args_rope &args, device const T *from, device const int *positions,
                 device const float *factors, device T *to,
                 uint3 group [[threadgroup_position_in_grid]],
                 ushort t [[thread_index_in_threadgroup]],
                 ushort3 size [[threads_per_threadgroup]])
{
    const int head = group.x, token = group.y;
    const ulong row = (ulong(token) * args.heads + head) * args.count;
    const float position = positions[token];
    for (int i = 2 * t; i < args.count; i += 2 * size.x) {
        if (i >= args.rotated) {
            to[row + i] = from[row + i];
            to[row + i + 1] = from[row + i + 1];
            continue;
        }
        const float theta = position * pow(args.base, -float(i) / args.rotated) / factors[i / 2];
        float c, s;
        rope_angle(theta, args, i, &c, &s);
        const ulong one = rope_neox ? row + i / 2 : row + i;
        const ulong two = rope_neox ? one + args.rotated / 2 : one + 1;
        const float x = from[one], y = from[two];
        to[one] = T(x * c - y * s);
        to[two] = T(x * s + y * c);
    }
}
template [[host_name("rope_f32")]] kernel decltype(rope<float>) rope<float>;
template [[host_name("rope_f16")]] kernel decltype(rope<half>) rope<half>;
template [[host_name("rope_bf16")]] kernel decltype(rope<bfloat>) rope<bfloat>;
